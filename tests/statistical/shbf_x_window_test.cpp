// SPDX-License-Identifier: BSD-3-Clause
// How often packets that should pass are held back, if multiplicities count the first n packets of
// a flow in a window: at sizes that were planned, against the formulas of sizing.
#include "filters/window/segmented/shbf_x_window.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "filters/generation.h"
#include "filters/sizing/sizing.h"
#include "filters/sizing/window/shbf_x_window.h"
#include "statistical/model.h"
#include "support/seed.h"

namespace unecho::test::shbf_x_window_test {
namespace {

using filter::EchoPolicy;
using filter::ShbfXWindow;
using filter::ShbfXWindowParams;
using sizing::ShbfXWindowGeometry;

struct Window {
    explicit Window(const ShbfXWindowGeometry& g, EchoPolicy policy = EchoPolicy::kFixed)
        : params(
              *ShbfXWindowParams::make({.k = g.k, .l = g.l, .m = g.m, .c = g.c, .policy = policy})),
          memory(ShbfXWindow::bytes(params)),
          filter(params, memory.span()) {}
    ShbfXWindowParams params;
    FilterMemory memory;
    ShbfXWindow filter;
};

// The chance of one multiplicity in a segment by equation (17), and its deviation between arrays,
// relative to it.
struct Chance {
    double mean = 0;
    double spread = 0;
};
Chance chance_in(const ShbfXWindowGeometry& g, double packets) {
    const auto m = static_cast<double>(g.m);
    const double zero = std::exp(packets * g.k * std::log1p(-1 / m));
    if (zero == 1) {
        return {};
    }
    const double variance = zero * (1 - zero * (1 - std::log(zero))) / m;
    return {std::pow(1 - zero, g.k), g.k * std::sqrt(variance) / (1 - zero)};
}

struct Plan {
    sizing::Targets targets;
    unsigned n;
};

class ShbfXPlanned : public ::testing::TestWithParam<Plan> {};

// Return the share of packets held back: the i-th one is, if a segment has by chance one of the i
// largest multiplicities. Averaged over all phases of the youngest segment and all packets.
double held_back_share(const ShbfXWindowGeometry& g, std::uint64_t full) {
    constexpr unsigned kPhases = 200;
    const double old = chance_in(g, static_cast<double>(full)).mean;
    double share = 0;
    for (unsigned phase = 0; phase < kPhases; ++phase) {
        const double young = chance_in(g, static_cast<double>(full) * (phase + 0.5) / kPhases).mean;
        for (unsigned i = 1; i <= g.c; ++i) {
            share += 1 - std::pow(1 - old, g.l * i) * std::pow(1 - young, i);
        }
    }
    return share / (kPhases * g.c);
}

// A stream at the planned rate; all flows but a few have one packet. Of those few, no more than n
// packets pass. The first n are held back less often than planned, as often as derived.
TEST_P(ShbfXPlanned, stream_keeps_the_targets_over_all_phases) {
    SCOPED_TRACE(seed_note());
    constexpr std::uint64_t kPackets = 3'000'000;
    const auto& [targets, n] = GetParam();
    const auto g = sizing::size_shbf_x_window(targets, n);
    ASSERT_TRUE(g);
    const std::uint64_t full = predict(*g, targets.window, targets.keys_per_second).generation_keys;
    const std::uint64_t generations = kPackets / full + g->l + 1;
    std::mt19937_64 random(seed());
    Window window(*g);
    double flows = 0;
    std::uint64_t held = 0;
    for (std::uint64_t generation = 0; generation < generations; ++generation) {
        window.filter.advance({.generation = generation});
        std::uint64_t next_flow = random() % (40 * n);
        for (std::uint64_t packet = 0; packet < full; ++packet) {
            if (packet != next_flow) {
                window.filter.test_and_insert_first(random(), n);
                continue;
            }
            next_flow += 40 * n;
            const Digest flow = random();
            unsigned passed = 0;
            for (unsigned i = 0; i < n; ++i, ++packet) {
                passed += window.filter.test_and_insert_first(flow, n) ? 0 : 1;
            }
            ASSERT_TRUE(window.filter.test_and_insert_first(flow, n));
            flows += generation > g->l ? 1 : 0;
            held += generation > g->l ? n - passed : 0;
        }
    }
    // The packets of a flow are held back together.
    const double held_flows = static_cast<double>(held) / n;
    const double share = held_back_share(*g, full);
    ASSERT_TRUE(share > 0 && share < 1);
    const Rate expected{share, share * chance_in(*g, static_cast<double>(full)).spread /
                                   std::sqrt(static_cast<double>(generations))};
    EXPECT_LT(held_flows, targets.max_false_drop * flows);
    EXPECT_GE(held_flows, counts_of(expected, flows).low);
    EXPECT_LE(held_flows, counts_of(expected, flows).high);
}

INSTANTIATE_TEST_SUITE_P(, ShbfXPlanned,
                         ::testing::Values(Plan{{20 * kMillisecond, 1e6, 3e-2}, 2},
                                           Plan{{20 * kMillisecond, 1e6, 1e-2}, 5},
                                           Plan{{5'000'001, 3.3e6, 5e-2}, 10},
                                           Plan{{kSecond, 20'000, 0.1}, 25},
                                           Plan{{50 * kMillisecond, 1e6, 0.2}, 57}),
                         [](const auto& info) { return "n" + std::to_string(info.param.n); });

}  // namespace
}  // namespace unecho::test::shbf_x_window_test
