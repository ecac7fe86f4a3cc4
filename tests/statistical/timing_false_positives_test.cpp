// SPDX-License-Identifier: BSD-3-Clause
// The false-positive rate of the timing filter on keys that were never inserted, against the
// formulas of sizing, at several phases of a generation. By count of insertions the filter gives
// the same answers (property/btbf_test.cpp).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filters/sizing/inferential.h"
#include "filters/sizing/window/btbf.h"
#include "filters/window/segmented/btbf.h"
#include "statistical/model.h"
#include "support/bounds.h"
#include "support/filter_memory.h"
#include "support/seed.h"

namespace unecho::test::timing_false_positives_test {
namespace {

constexpr double kExpectedMatches = 40'000;
constexpr double kMaxQueries = 4e6;  // for each phase
// The deviation of the mean over tables is at most this, relative to the rate.
constexpr double kTableSpread = 0.004;

// Return the rate with n live keys: the mean over tables of fill^k, to second order; and its
// deviation.
Rate rate_with(double m, unsigned k, double n) {
    if (n <= 0) {
        return {0, 0};
    }
    const Fill fill = fill_of_bits(m, k * n);
    const double mean = sizing::timers_match(m, k, n);
    const double relative = fill.variance / (fill.mean * fill.mean);
    return {mean * (1 + k * (k - 1) / 2.0 * relative), mean * k * std::sqrt(relative)};
}

// How much is measured at a phase: independent tables, and queries of each.
struct Plan {
    Plan(double m, unsigned k, double n) {
        const Rate rate = rate_with(m, k, n);
        constexpr double kMost = 600;
        const double ratio = rate.deviation / rate.mean / kTableSpread;
        tables = static_cast<std::uint64_t>(std::clamp(std::ceil(ratio * ratio), 8.0, kMost));
        queries = static_cast<std::uint64_t>(std::min(kMaxQueries, kExpectedMatches / rate.mean) /
                                             static_cast<double>(tables)) +
                  1;
    }
    std::uint64_t tables;
    std::uint64_t queries;
};

template <typename Filter>
std::uint64_t count_matches(const Filter& filter, std::uint64_t queries, std::mt19937_64& random) {
    std::uint64_t matches = 0;
    for (std::uint64_t i = 0; i < queries; ++i) {
        matches += filter.query(random()) ? 1 : 0;
    }
    return matches;
}

template <typename Filter>
void insert_keys(Filter& filter, std::uint64_t keys, std::mt19937_64& random) {
    for (std::uint64_t i = 0; i < keys; ++i) {
        filter.insert(random());
    }
}

void expect_rate(std::uint64_t matches, double m, unsigned k, double live, const Plan& plan,
                 const std::string& when) {
    Rate rate = rate_with(m, k, live);
    rate.deviation /= std::sqrt(static_cast<double>(plan.tables));
    expect_count(matches, counts_of(rate, static_cast<double>(plan.tables * plan.queries)),
                 "foreign keys that match " + when);
}

struct TimedShape {
    unsigned k;
    unsigned l;
    unsigned bpt;
    std::uint64_t m;
    std::uint64_t g;  // keys a generation, even
};

void PrintTo(const TimedShape& s, std::ostream* out) {
    *out << "k" << s.k << "_l" << s.l << "_bpt" << s.bpt << "_m" << s.m << "_g" << s.g;
}

class TimedRate : public ::testing::TestWithParam<TimedShape> {
  protected:
    [[nodiscard]] static filter::TimedBtbfParams params() {
        const TimedShape s = GetParam();
        return *filter::TimedBtbfParams::make({.l = s.l, .k = s.k, .m = s.m, .bpt = s.bpt});
    }
    TimedRate()
        : memory(filter::TimedBtbf::bytes(params())),
          table(params(), memory.span()),
          random(seed()) {}

    void expect(std::uint64_t matches, std::uint64_t live, const Plan& plan,
                const std::string& when) const {
        expect_rate(matches, m, k, static_cast<double>(live), plan, when);
    }

    unsigned k = GetParam().k;
    std::uint64_t l = GetParam().l;
    std::uint64_t g = GetParam().g;
    double m = static_cast<double>(GetParam().m);
    FilterMemory memory;
    filter::TimedBtbf table;
    std::mt19937_64 random;
};

// After l + 1 generations nothing is left, so the table is an independent one.
TEST_P(TimedRate, steady_state_gives_the_predicted_rate) {
    SCOPED_TRACE(seed_note());
    const Plan plan(m, k, static_cast<double>((l + 1) * g));
    std::vector<std::uint64_t> matches(3);
    std::uint64_t generation = 0;
    for (std::uint64_t i = 0; i < plan.tables + 2; ++i) {
        for (std::uint64_t turn = 0; turn < l; ++turn) {
            table.advance({.generation = ++generation});
            insert_keys(table, g, random);
        }
        table.advance({.generation = ++generation});
        const std::uint64_t queries = i < 2 ? 0 : plan.queries;
        matches[0] += count_matches(table, queries, random);
        insert_keys(table, g / 2, random);
        matches[1] += count_matches(table, queries, random);
        insert_keys(table, g / 2, random);
        matches[2] += count_matches(table, queries, random);
    }
    expect(matches[0], l * g, plan, "just after a turn");
    expect(matches[1], l * g + g / 2, plan, "mid generation");
    expect(matches[2], (l + 1) * g, plan, "just before a turn");
    const auto predicted =
        sizing::predict(sizing::BtbfGeometry{k, GetParam().l, GetParam().m, GetParam().bpt},
                        kSecond * l, static_cast<double>(g));
    EXPECT_NEAR(predicted.false_drop, sizing::timers_match(m, k, static_cast<double>((l + 1) * g)),
                1e-9);
}

INSTANTIATE_TEST_SUITE_P(
    shapes, TimedRate,
    ::testing::Values(TimedShape{10, 2, 3, 14'427, 334}, TimedShape{4, 5, 4, 10'000, 300},
                      TimedShape{1, 3, 3, 5'000, 200}, TimedShape{2, 1, 2, 3'000, 400},
                      TimedShape{3, 13, 4, 7'919, 130}, TimedShape{7, 5, 4, 4'001, 66},
                      TimedShape{6, 9, 5, 2'048, 40}, TimedShape{5, 4, 3, 1'009, 60},
                      TimedShape{8, 20, 6, 5'003, 30}, TimedShape{3, 2, 16, 997, 150},
                      TimedShape{5, 30, 7, 12'345, 50}),
    ::testing::PrintToStringParamName());

}  // namespace
}  // namespace unecho::test::timing_false_positives_test
