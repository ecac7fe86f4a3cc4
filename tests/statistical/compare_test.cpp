// SPDX-License-Identifier: BSD-3-Clause
// The interval that `unecho compare` states of a loss holds the true loss of the path in at least
// 95 % of all runs, whatever the loss, the delays and the encapsulation.
#include "captures/compare/compare.h"

#include <random>

#include <gtest/gtest.h>

#include "support/bounds.h"
#include "support/seed.h"
#include "support/wrappings.h"
#include "unit/compare/path_scene.h"

namespace unecho::compare {
namespace {

constexpr unsigned kRuns = 100;

struct Setting {
    const char* name;
    SceneSpec spec;
};

// Return in how many runs the interval of each direction holds the loss.
std::array<unsigned, 2> runs_held(SceneSpec spec) {
    const capture::Folder folder;
    std::array<unsigned, 2> held{};
    for (unsigned run = 0; run < kRuns; ++run) {
        spec.seed = test::seed() + run;
        spec.clear_ends = false;
        make_scene(spec, folder);
        Options options;
        options.inputs = {folder.file("a.pcap"), folder.file("b.pcap")};
        options.seed = run;
        const auto result = compare_captures(options, [](const capture::Source::Progress&) {});
        EXPECT_TRUE(result);
        const PointPair& pair = result->pairs.front();
        unsigned direction = 0;
        for (const Path* path : {&pair.there, &pair.back}) {
            held.at(direction++) +=
                path->loss.low <= spec.loss && spec.loss <= path->loss.high ? 1 : 0;
        }
    }
    return held;
}

TEST(Compare, interval_holds_the_loss_of_the_path) {
    SCOPED_TRACE(test::seed_note());
    std::mt19937_64 draw(test::seed());
    const test::Wrapping& vxlan = test::wrappings().front();
    const auto in_vxlan = [&](const test::PacketSpec& packet) {
        return test::wrap(vxlan, {test::build(packet), true}, 7, draw).bytes;
    };
    const std::array settings{
        Setting{"loss 1e-2", {.packets = 2000, .loss = 1e-2}},
        Setting{"loss 1e-3", {.packets = 2000, .loss = 1e-3}},
        Setting{"loss 1e-4", {.packets = 2000, .loss = 1e-4}},
        Setting{"IPv6", {.packets = 2000, .version = 6, .loss = 1e-2}},
        Setting{"reordering", {.packets = 2000, .loss = 1e-2, .jitter = 2e7}},
        Setting{"delay 50 ms", {.packets = 2000, .loss = 1e-2, .delay = 50 * kMillisecond}},
        Setting{"duplicates", {.packets = 2000, .loss = 1e-2, .duplicates = 0.05}},
        Setting{"clocks", {.packets = 2000, .loss = 1e-2, .offset = 9'000'000'000, .drift = 3e-5}},
        Setting{"VXLAN", {.packets = 2000, .loss = 1e-2, .at_b = in_vxlan}},
    };
    for (const Setting& setting : settings) {
        SCOPED_TRACE(setting.name);
        for (const unsigned held : runs_held(setting.spec)) {
            EXPECT_GE(held, test::binomial_bounds(kRuns, 0.95).low);
            RecordProperty(setting.name, static_cast<int>(held));
        }
    }
}

}  // namespace
}  // namespace unecho::compare
