// SPDX-License-Identifier: BSD-3-Clause
// How often packets that should pass are held back, if multiplicities count the first n packets of
// a flow in a window: measured against the formulas of sizing.
#include "filters/window/segmented/shbf_x_window.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

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

// Let flows of so many packets pass, until so many packets passed in the present generation.
void let_pass(Window& window, std::uint64_t packets, unsigned of_a_flow, std::mt19937_64& random) {
    const unsigned n = window.params.c();
    const auto passed = [&] { return window.filter.counters().insertions; };
    const std::uint64_t goal = passed() + packets;
    while (passed() < goal) {
        const Digest flow = random();
        for (unsigned i = 0; i < of_a_flow && passed() < goal; ++i) {
            window.filter.test_and_insert_first(flow, n);
        }
    }
}

// The chance of one multiplicity in a segment by equation (17), and its deviation between arrays,
// relative to it. Flows set runs of bits, so arrays vary as occupied boxes of the size of a run.
struct Chance {
    double mean = 0;
    double spread = 0;
};
Chance chance_in(const ShbfXWindowGeometry& g, double packets, double of_a_flow = 1) {
    const auto m = static_cast<double>(g.m);
    const double zero = std::exp(packets / of_a_flow * g.k * std::log1p(-of_a_flow / m));
    if (zero == 1) {
        return {};
    }
    const double variance = zero * (1 - zero * (1 - std::log(zero))) * of_a_flow / m;
    return {std::pow(1 - zero, g.k), g.k * std::sqrt(variance) / (1 - zero)};
}

// Return the chances that a foreign flow's count reaches 1 .. n, at [1] .. [n]. The count is the
// sum over segments of the largest candidate, which is j with chance (1 - chance)^(n - j) * chance.
std::vector<double> count_reaches(const std::vector<double>& chances, unsigned n, bool sum) {
    std::vector<double> counts(n + 1, 0.0);  // [n]: n or more
    counts[0] = 1;
    for (const double chance : chances) {
        std::vector<double> next(n + 1, 0.0);
        for (unsigned before = 0; before <= n; ++before) {
            for (unsigned j = 0; j <= n; ++j) {
                const double here = std::pow(1 - chance, n - j) * (j == 0 ? 1 : chance);
                const unsigned after = sum ? std::min(before + j, n) : std::max(before, j);
                next[after] += counts[before] * here;
            }
        }
        counts = next;
    }
    for (unsigned j = n; j > 1; --j) {
        counts[j - 1] += counts[j];
    }
    return counts;
}

// Packets in the segments, youngest first.
struct Filling {
    std::string name;
    std::vector<std::uint64_t> packets;
};

std::vector<Filling> fillings(const ShbfXWindowGeometry& g, std::uint64_t full) {
    std::vector<std::uint64_t> steady(g.l + 1, full);
    std::vector<std::uint64_t> middle = steady;
    middle[0] = full / 2;
    std::vector<std::uint64_t> after_shift = steady;
    after_shift[0] = 0;
    return {{"before a shift", steady},
            {"half a generation after it", middle},
            {"just after it", after_shift},
            {"in the first generation", {full / 2}},
            {"in the second", {full / 2, full}}};
}

struct Measured {
    std::uint64_t any = 0;   // counts of 1 or more
    std::uint64_t held = 0;  // counts of n or more
    double queries = 0;
};

constexpr unsigned kInstances = 12;

Measured measure(const ShbfXWindowGeometry& g, const Filling& filling, EchoPolicy policy,
                 unsigned of_a_flow, std::uint64_t queries) {
    std::mt19937_64 random(seed());
    Measured out;
    for (unsigned instance = 0; instance < kInstances; ++instance) {
        Window window(g, policy);
        std::uint64_t generation = 0;
        // One generation more than the segments hold must make no difference.
        if (filling.packets.size() == g.l + 1) {
            let_pass(window, filling.packets.back(), of_a_flow, random);
            window.filter.advance({.generation = ++generation});
        }
        for (std::size_t i = filling.packets.size(); i > 0; --i) {
            let_pass(window, filling.packets[i - 1], of_a_flow, random);
            if (i > 1) {
                window.filter.advance({.generation = ++generation});
            }
        }
        for (std::uint64_t query = 0; query < queries / kInstances; ++query) {
            const unsigned count = window.filter.count(random(), g.c);
            out.any += count >= 1 ? 1 : 0;
            out.held += count >= g.c ? 1 : 0;
            out.queries += 1;
        }
    }
    return out;
}

// Expect a count between two rates. low is for arrays without ends; real ones hold slightly less.
void expect_between(std::uint64_t count, const Measured& measured, const ShbfXWindowGeometry& g,
                    double low, double high, double spread, const std::string& what) {
    ASSERT_TRUE(low > 0 && high >= low && high < 1) << low << " " << high;
    const double with_ends = low * (1 - static_cast<double>(g.k * g.c) / static_cast<double>(g.m));
    expect_count(count,
                 {counts_of({with_ends, with_ends * spread}, measured.queries).low,
                  counts_of({high, high * spread}, measured.queries).high},
                 what);
}

// Expect counts between (17) and the rates of sizing. Flows of one packet set unrelated bits, so
// the formulas hold exactly. Longer flows set runs of bits, and matching multiplicities come in
// runs too: each is as frequent, but fewer flows have one. At least as many flows have one as a
// single multiplicity has matches.
void check_counts(const ShbfXWindowGeometry& g, const Filling& filling, EchoPolicy policy,
                  unsigned of_a_flow) {
    constexpr std::uint64_t kQueries = 120'000;
    SCOPED_TRACE(seed_note() + " k " + std::to_string(g.k) + " l " + std::to_string(g.l) + " m " +
                 std::to_string(g.m) + " c " + std::to_string(g.c) + " " + filling.name);
    std::vector<double> paper;
    std::vector<double> planned;
    double spread = 0;
    for (const std::uint64_t packets : filling.packets) {
        const Chance chance = chance_in(g, static_cast<double>(packets), of_a_flow);
        if (packets > 0) {
            paper.push_back(chance.mean);
            planned.push_back(sizing::shbf_x_multiplicity_match(g, static_cast<double>(packets)));
        }
        spread = std::max(spread, chance.spread);
    }
    // The deviation over several segments of unequal fill is at most that of one.
    spread /= std::sqrt(kInstances);
    const Measured measured = measure(g, filling, policy, of_a_flow, kQueries);
    const bool sum = policy == EchoPolicy::kFixed;
    const auto high = count_reaches(planned, g.c, sum);
    const auto low = of_a_flow == 1 ? count_reaches(paper, g.c, sum)
                                    : std::vector<double>(g.c + 1, count_reaches(paper, 1, sum)[1]);
    expect_between(measured.any, measured, g, low[1], high[1], spread, "foreign flows that count");
    expect_between(measured.held, measured, g, low[g.c], high[g.c], spread,
                   "first packets that are held back");
}

// k, l, m, n. With segments filled to 0.3 .. 0.5, 1 in 1000 multiplicities matches by chance.
constexpr std::array<std::pair<ShbfXWindowGeometry, double>, 12> kGeometries{{
    {{4, 1, 100'003, 1}, 0.2},
    {{5, 2, 100'000, 2}, 0.25},
    {{6, 3, 131'072, 3}, 0.3},
    {{6, 4, 99'991, 5}, 0.33},
    {{7, 2, 150'001, 8}, 0.35},
    {{7, 8, 65'537, 10}, 0.35},
    {{8, 3, 200'003, 16}, 0.4},
    {{8, 5, 120'011, 25}, 0.4},
    {{9, 2, 300'007, 40}, 0.45},
    {{10, 2, 250'007, 57}, 0.5},
    {{2, 3, 400'009, 4}, 0.03},
    {{12, 1, 100'019, 30}, 0.55},
}};

std::uint64_t packets_for(const ShbfXWindowGeometry& g, double fill) {
    return static_cast<std::uint64_t>(-std::log1p(-fill) * static_cast<double>(g.m) / g.k);
}

TEST(shbf_x_window_statistical, counts_by_chance_are_as_derived_at_every_phase) {
    for (const auto& [g, fill] : kGeometries) {
        for (const Filling& filling : fillings(g, packets_for(g, fill))) {
            check_counts(g, filling, EchoPolicy::kFixed, 1);
        }
    }
}

TEST(shbf_x_window_statistical, counts_by_chance_of_long_flows_are_below_those_of_short_ones) {
    for (const auto& [g, fill] : kGeometries) {
        check_counts(g, fillings(g, packets_for(g, fill))[0], EchoPolicy::kFixed, g.c);
    }
}

// Under kRefresh the largest count of all segments matters, not their sum.
TEST(shbf_x_window_statistical, refreshed_counts_by_chance_are_as_derived) {
    for (const auto& [g, fill] : kGeometries) {
        check_counts(g, fillings(g, packets_for(g, fill))[0], EchoPolicy::kRefresh, 1);
    }
}

// In small arrays the windows of a flow overlap, so its own packets set bits of the next one. Its
// last packet is held back more often than by (17) and (18), but no more than by sizing.
TEST(shbf_x_window_statistical, own_packets_hold_back_the_last_in_small_arrays_within_the_plan) {
    SCOPED_TRACE(seed_note());
    constexpr unsigned kArrays = 60'000;
    const std::array<std::pair<ShbfXWindowGeometry, std::uint64_t>, 4> cases{{
        {{6, 1, 1000, 10}, 85},
        {{12, 1, 2000, 30}, 115},
        {{4, 1, 500, 10}, 44},
        {{12, 1, 4000, 57}, 230},
    }};
    for (const auto& [g, packets] : cases) {
        Window window(g);
        std::mt19937_64 random(seed());
        std::uint64_t held = 0;
        for (unsigned array = 0; array < kArrays; ++array) {
            window.filter.clear();
            for (std::uint64_t i = 0; i < packets; ++i) {
                window.filter.insert(random(), g.c);
            }
            const Digest flow = random();
            for (unsigned i = 0; i < g.c; ++i) {
                if (window.filter.test_and_insert_first(flow, g.c)) {
                    ++held;
                    break;
                }
            }
        }
        const auto load = static_cast<double>(packets);
        const double by_paper = 1 - std::pow(1 - chance_in(g, load).mean, g.c);
        // The lower bound is (18) plus a tenth for own packets.
        expect_count(held,
                     {counts_of({1.1 * by_paper, 0}, kArrays).low,
                      counts_of({sizing::shbf_x_match(g, load), 0}, kArrays).high},
                     "flows whose last packet is held back, m " + std::to_string(g.m));
    }
}

// --- Planned for targets ---

struct Plan {
    sizing::Targets targets;
    unsigned n;
};

class ShbfXPlanned : public ::testing::TestWithParam<Plan> {};

// At the planned rate, with all packets of new flows: just before a shift, the last packet of a
// flow of which n - 1 packets passed is held back as predicted.
TEST_P(ShbfXPlanned, last_packet_of_a_flow_is_held_back_as_predicted) {
    const auto& [targets, n] = GetParam();
    const auto g = sizing::size_shbf_x_window(targets, n);
    ASSERT_TRUE(g);
    const auto predicted = predict(*g, targets.window, targets.keys_per_second);
    ASSERT_LE(predicted.false_drop, targets.max_false_drop);
    EXPECT_GE(predicted.false_drop, 0.9 * targets.max_false_drop);
    const Filling steady = fillings(*g, predicted.generation_keys)[0];
    const Measured measured = measure(*g, steady, EchoPolicy::kFixed, 1, 300'000);
    const Chance chance = chance_in(*g, static_cast<double>(predicted.generation_keys));
    const double by_paper = 1 - std::pow(1 - chance.mean, n * (g->l + 1));
    expect_between(measured.any, measured, *g, by_paper, predicted.false_drop,
                   chance.spread / std::sqrt(kInstances), "last packets that are held back");
}

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
