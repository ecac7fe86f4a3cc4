// SPDX-License-Identifier: BSD-3-Clause
// The interval that `unecho compare` states of a loss holds the true loss of the path in at least
// 95 % of all runs, and is not wider than it needs to be, whatever the loss, the delays and the
// encapsulation.
#include "captures/compare/compare.h"

#include <cmath>
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

struct Held {
    unsigned runs = 0;   // whose interval holds the loss
    double width = 0;    // of the interval, mean
    double packets = 0;  // judged in a run, mean
};

// Return what the intervals of each direction hold.
std::array<Held, 2> intervals_of(SceneSpec spec) {
    const capture::Folder folder;
    std::array<Held, 2> held{};
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
            Held& one = held.at(direction++);
            one.runs += path->loss.low <= spec.loss && spec.loss <= path->loss.high ? 1 : 0;
            one.width += (path->loss.high - path->loss.low) / kRuns;
            one.packets += static_cast<double>(path->sent) / kRuns;
        }
    }
    return held;
}

TEST(Compare, interval_holds_the_loss_of_the_path) {
    SCOPED_TRACE(test::seed_note());
    std::mt19937_64 draw(test::seed());
    const test::Wrapping& vxlan = test::wrappings().front();
    const auto in_vxlan = [&](const test::PacketSpec& packet) {
        return test::on_ethernet(test::wrap(vxlan, {test::build(packet), true}, 7, draw), draw);
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
        for (const Held& held : intervals_of(setting.spec)) {
            EXPECT_GT(held.packets, 500);
            EXPECT_GE(held.runs, test::binomial_bounds(kRuns, 0.95).low);
            RecordProperty(setting.name, static_cast<int>(held.runs));
            // An exact interval is wider than that of a normal distribution by 1 to 3 packets.
            const double loss = setting.spec.loss;
            const double normal = 2 * 1.96 * std::sqrt(loss * (1 - loss) / held.packets);
            EXPECT_GE(held.width, normal);
            EXPECT_LE(held.width, normal + 4 / held.packets);
        }
    }
}

}  // namespace
}  // namespace unecho::compare
