// SPDX-License-Identifier: BSD-3-Clause
// The number of flows that two taps report, against exact numbers and the expectation of sizing,
// with two-sided bounds.
#include "filters/sizing/tap_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "filters/tap_report.h"
#include "support/bounds.h"
#include "support/filter_memory.h"
#include "support/seed.h"

namespace unecho::test::tap_report_test {
namespace {

using filter::SetOfTwo;
using sizing::TapExpectation;

using Packets = std::vector<std::pair<Digest, SetOfTwo>>;

// Return so many flows of each kind in random order, each with one or two packets on its taps.
Packets stream(std::uint64_t a, std::uint64_t b, std::uint64_t both, std::mt19937_64& random) {
    Packets out;
    const auto put = [&](Digest flow, SetOfTwo tap) {
        out.insert(out.end(), 1 + random() % 2, {flow, tap});
    };
    for (std::uint64_t i = 0; i < a + b + both; ++i) {
        const Digest flow = random();
        if (i < a || i >= a + b) {
            put(flow, SetOfTwo::kFirst);
        }
        if (i >= a) {
            put(flow, SetOfTwo::kSecond);
        }
    }
    std::shuffle(out.begin(), out.end(), random);
    return out;
}

struct Sum {
    double expected = 0;
    double variance = 0;  // between independent trials
    double measured = 0;

    void trial(double probability, double weight = 1) {
        expected += weight * probability;
        variance += probability * (1 - probability);
    }
    void check(double more_variance, const std::string& what) const {
        const double reach = kDeviations * std::sqrt(variance + more_variance) + 0.5;
        EXPECT_GE(measured, expected - reach) << what << ", expected " << expected;
        EXPECT_LE(measured, expected + reach) << what << ", expected " << expected;
    }
};

struct Case {
    std::uint64_t m;
    unsigned k;
    std::uint64_t a, b, both;
    unsigned w_bar = 57;
};

// Return the variance between arrays. The share of 1s varies; its relative deviation enters k-fold
// into the chance of a match, and at most three times that into the result of a first packet.
double array_variance(const Case& c, double chances) {
    const double load =
        static_cast<double>(c.k * (c.a + c.b + 2 * c.both)) / static_cast<double>(c.m);
    const double zero = std::exp(-load);
    const double share = std::sqrt((zero - zero * zero * (1 + load)) / static_cast<double>(c.m));
    const double relative = 1.25 * c.k * share / (1 - zero);
    return std::pow(3 * relative * chances, 2);
}

void measure(const Case& c) {
    constexpr double kFlowsInAll = 120'000;
    std::mt19937_64 random(seed());
    const auto windows =
        static_cast<unsigned>(kFlowsInAll / static_cast<double>(c.a + c.b + c.both));
    const auto params = *filter::ShbfAParams::make({.m = c.m, .k = c.k, .w_bar = c.w_bar});
    const FilterMemory memory(filter::TapFlows::bytes(params));
    filter::TapFlows flows(params, memory.span());
    Sum counted;
    Sum both;
    double between = 0;
    for (unsigned window = 0; window < windows; ++window) {
        TapExpectation expected({c.m, c.k});
        std::set<Digest> seen[2];
        double chances = 0;
        for (const auto& [flow, tap] : stream(c.a, c.b, c.both, random)) {
            flows.add(flow, tap);
            const bool first = tap == SetOfTwo::kFirst;
            if (!seen[first ? 0 : 1].insert(flow).second) {
                continue;
            }
            const double f = expected.chance();
            const double clear = (1 - f) * (1 - f);
            chances += f;
            if (seen[first ? 1 : 0].contains(flow)) {
                both.variance += clear * (1 - clear);
                expected.known_flow();
            } else {
                counted.variance += clear * (1 - clear);
                both.variance += f * clear * (1 - f * clear);
                expected.new_flow();
            }
        }
        counted.expected += expected.flows();
        both.expected += expected.both();
        between += array_variance(c, chances);
        const filter::TapCounts counts = flows.turn();
        counted.measured += static_cast<double>(counts.flows());
        both.measured += static_cast<double>(counts.both);
    }
    // Without enough errors the test proves nothing.
    EXPECT_GT(static_cast<double>(windows * (c.a + c.b + c.both)) - counted.expected, 100);
    counted.check(between, "flows counted");
    both.check(between, "flows of both");
}

TEST(tap_report_statistical, numbers_are_those_expected_in_arrays_of_any_fill) {
    SCOPED_TRACE(seed_note());
    const Case cases[] = {
        {.m = 20'011, .k = 5, .a = 700, .b = 700, .both = 700},
        {.m = 30'011, .k = 5, .a = 100, .b = 100, .both = 2000},
        {.m = 20'011, .k = 4, .a = 1600, .b = 1600, .both = 100},
        {.m = 60'013, .k = 6, .a = 3000, .b = 300, .both = 2000},
        {.m = 60'013, .k = 6, .a = 300, .b = 3000, .both = 2000},
        {.m = 50'021, .k = 3, .a = 3000, .b = 3000, .both = 3000},
        {.m = 50'021, .k = 2, .a = 1000, .b = 1500, .both = 1000},
        {.m = 50'021, .k = 1, .a = 500, .b = 300, .both = 800},
        {.m = 90'001, .k = 7, .a = 2000, .b = 2000, .both = 3000, .w_bar = 31},
        {.m = 65'536, .k = 8, .a = 1000, .b = 1000, .both = 2500, .w_bar = 57},
        {.m = 40'009, .k = 9, .a = 1000, .b = 1000, .both = 1500, .w_bar = 15},
        {.m = 20'011, .k = 4, .a = 0, .b = 0, .both = 2000},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE("m " + std::to_string(c.m) + " k " + std::to_string(c.k) + " flows " +
                     std::to_string(c.a) + " " + std::to_string(c.b) + " " +
                     std::to_string(c.both) + " w_bar " + std::to_string(c.w_bar));
        measure(c);
    }
}

}  // namespace
}  // namespace unecho::test::tap_report_test
