// SPDX-License-Identifier: BSD-3-Clause
// The false-positive rate on keys that were never inserted, against the formulas, at several phases
// of a generation.
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "filters/sizing/fpr.h"
#include "statistical/model.h"
#include "support/bounds.h"
#include "support/seed.h"

namespace unecho::test::false_positives_test {
namespace {

// Enough expected matches, where the trials suffice, and enough tables: a rate that is 6 % wrong
// fails. 6 % is 4.9 deviations, of which sampling has 1 % and the tables 0.6 %. Nearly always 8 %.
constexpr double kExpectedMatches = 10'000;
constexpr double kMaxTrials = 6e6;
constexpr double kTableSpread = 0.006;  // of the tables' mean, relative to the rate

template <typename Shape>
auto false_positive_rate(const Shape& shape) {
    return [k = shape.k, l = shape.l](const sizing::Profile& r) {
        return sizing::false_positive_rate(k, l, r);
    };
}

// After k + l generations nothing of a table is left, so it is an independent instance.
template <typename Shape>
std::uint64_t instances_for(const Shape& shape, std::uint64_t g) {
    constexpr double kMost = 400;
    const Rate one = rate_of(fills_of(shape, kSteady, g, g), 1, false_positive_rate(shape));
    const double ratio = one.deviation / one.mean / kTableSpread;
    return static_cast<std::uint64_t>(std::clamp(std::ceil(ratio * ratio), 1.0, kMost));
}

template <typename Shape>
std::uint64_t trials_for(const Shape& shape, std::uint64_t g) {
    const Rate rate = rate_of(fills_of(shape, kSteady, g, g), 1, false_positive_rate(shape));
    return static_cast<std::uint64_t>(std::min(kMaxTrials, kExpectedMatches / rate.mean));
}

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

// Sampling and tables vary independently: combine both as fewer samples from one table.
Counts bounds_of(const Rate& rate, double trials) {
    if (rate.mean <= 0 || rate.mean >= 1) {
        return binomial_bounds(trials, rate.mean);
    }
    const double drawn = rate.mean * (1 - rate.mean) / trials;
    const double fewer = std::ceil(trials * drawn / (drawn + rate.deviation * rate.deviation));
    const Counts bounds = binomial_bounds(fewer, rate.mean);
    return {bounds.low * trials / fewer, bounds.high * trials / fewer};
}

template <typename Shape>
void expect_rate(const Shape& shape, const std::vector<Fill>& fills, std::uint64_t matches,
                 std::uint64_t trials, std::uint64_t instances, const std::string& when) {
    const Rate rate = rate_of(fills, static_cast<double>(instances), false_positive_rate(shape));
    expect_count(matches, bounds_of(rate, static_cast<double>(trials)),
                 "foreign keys that match " + when);
}

template <typename Shape>
void check_steady_state(const Shape& shape) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 random(seed());
    Instance<Shape> table(shape);
    auto& filter = table.filter;
    const std::uint64_t g = generation_keys(shape);
    const std::uint64_t cycle = shape.k + shape.l;
    const std::uint64_t instances = instances_for(shape, g);
    const std::uint64_t queries = trials_for(shape, g) / (instances * cycle) + 1;
    std::array<std::uint64_t, 3> matches{};
    for (std::uint64_t generation = 0; generation < cycle * (1 + instances); ++generation) {
        const bool steady = generation >= cycle;
        filter.advance({.generation = generation});
        matches[0] += steady ? count_matches(filter, queries, random) : 0;
        insert_keys(filter, g / 2, random);
        matches[1] += steady ? count_matches(filter, queries, random) : 0;
        insert_keys(filter, g / 2, random);
        matches[2] += steady ? count_matches(filter, queries, random) : 0;
    }
    const std::array<std::string, 3> when{"just after a shift", "mid generation",
                                          "just before a shift"};
    for (std::size_t phase = 0; phase < when.size(); ++phase) {
        expect_rate(shape, fills_of(shape, kSteady, g, g / 2 * phase), matches.at(phase),
                    queries * cycle * instances, instances, when.at(phase));
    }
}

class ApbfRate : public ::testing::TestWithParam<ApbfShape> {};
class ApbbfRate : public ::testing::TestWithParam<ApbbfShape> {};

const auto kName = [](const auto& info) { return info.param.name(); };

TEST_P(ApbfRate, steady_state_gives_the_predicted_rate) {
    check_steady_state(GetParam());
}
TEST_P(ApbbfRate, steady_state_gives_the_predicted_rate) {
    check_steady_state(GetParam());
}

// The shapes of table 2, the smallest possible, loads above and below the paper's, odd slice sizes.
INSTANTIATE_TEST_SUITE_P(, ApbfRate,
                         ::testing::Values(ApbfShape{1, 1, 40'000}, ApbfShape{1, 6, 10'007},
                                           ApbfShape{4, 3, 65'536}, ApbfShape{7, 28, 16'384},
                                           ApbfShape{8, 56, 10'000}, ApbfShape{9, 35, 22'528, 0.98},
                                           ApbfShape{3, 9, 20'000, 0.4},
                                           ApbfShape{6, 4, 20'000, 1.5}, ApbfShape{5, 5, 64, 0.7}),
                         kName);

// The shapes of table 3, bits that do not divide a block, few blocks and one, other loads.
INSTANTIATE_TEST_SUITE_P(
    , ApbbfRate,
    ::testing::Values(ApbbfShape{2, 3, 64, 4, 2'000}, ApbbfShape{2, 5, 512, 4, 400},
                      ApbbfShape{1, 1, 512, 5, 300}, ApbbfShape{1, 4, 512, 8, 300, 1.07},
                      ApbbfShape{2, 7, 128, 3, 500}, ApbbfShape{4, 3, 512, 3, 300},
                      ApbbfShape{1, 3, 64, 7, 1'000, 0.7}, ApbbfShape{2, 4, 512, 1, 300},
                      ApbbfShape{1, 3, 512, 8, 1, 0.7}, ApbbfShape{2, 4, 512, 3, 2},
                      ApbbfShape{3, 4, 64, 5, 16, 1.4}),
    kName);

}  // namespace
}  // namespace unecho::test::false_positives_test
