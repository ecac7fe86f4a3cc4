// SPDX-License-Identifier: BSD-3-Clause
// Measurements of shifting Bloom filters on random digests, against the formulas, which
// tests/unit/sizing compares with the simulations of the reference vectors.
#include "filters/sizing/sets/shbf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "statistical/model.h"
#include "support/seed.h"
#include "support/shbf_filters.h"

namespace unecho::test::shbf_test {
namespace {

using filter::Association;
using filter::Region;

// Return the deviation between arrays of the chance that k bits match, relative to it. The share of
// set bits varies as that of occupied boxes, and enters with the k-th power. Bits in groups vary a
// little more than single ones.
double array_spread(double m, double n, double k) {
    constexpr double kGroups = 1.25;
    const double load = n * k / m;
    const double zero = std::exp(-load);
    const double share = std::sqrt((zero - zero * zero * (1 + load)) / m);
    return kGroups * k * share / (1 - zero);
}

// --- Membership ---

struct Measured {
    std::uint64_t matches = 0;
    double trials = 0;
    double spread = 0;  // between arrays, relative
};

// Return the matches of foreign elements in several arrays.
template <typename Filter, typename Spec>
Measured measure(const Spec& spec, std::uint64_t n, double expected) {
    constexpr unsigned kArrays = 40;
    constexpr double kExpectedMatches = 40'000;
    constexpr double kMaxTrials = 1.2e7;
    std::mt19937_64 random(seed());
    Measured measured;
    const auto queries =
        static_cast<std::uint64_t>(std::min(kMaxTrials, kExpectedMatches / expected) / kArrays);
    for (unsigned array = 0; array < kArrays; ++array) {
        Filter i(spec);
        for (std::uint64_t key = 0; key < n; ++key) {
            i.filter.insert(random());
        }
        for (std::uint64_t query = 0; query < queries; ++query) {
            measured.matches += i.filter.query(random()) ? 1 : 0;
        }
    }
    measured.trials = static_cast<double>(queries) * kArrays;
    measured.spread = array_spread(static_cast<double>(spec.m), static_cast<double>(n), spec.k) /
                      std::sqrt(kArrays);
    return measured;
}

// Expect the rate within the tolerance and the sampling error.
void expect_rate(const Measured& measured, double expected, double deviation, double tolerance) {
    const double away = std::hypot(deviation, measured.spread * expected);
    const Counts low = counts_of({expected * (1 - tolerance), away}, measured.trials);
    const Counts high = counts_of({expected * (1 + tolerance), away}, measured.trials);
    expect_count(measured.matches, {low.low, high.high}, "foreign elements that match");
}

// The largest difference between theory and measurement that the paper reports.
constexpr double kPaper = 0.03;

// Odd sizes, every number of shifts, windows of every kind.
TEST(shbf_statistical, membership_of_any_geometry_is_as_derived) {
    SCOPED_TRACE(seed_note());
    const struct {
        filter::ShbfMSpec spec;
        std::uint64_t n;
    } cases[] = {{{.m = 5003, .k = 6}, 600},
                 {{.m = 9973, .k = 2}, 500},
                 {{.m = 20'011, .k = 10}, 1300},
                 {{.m = 40'009, .k = 16}, 1500},
                 {{.m = 33'333, .k = 8, .w_bar = 2}, 2500},
                 {{.m = 33'333, .k = 9, .t = 2}, 2500},
                 {{.m = 33'331, .k = 8, .t = 3, .w_bar = 31}, 2500},
                 {{.m = 33'329, .k = 10, .t = 4}, 2500},
                 {{.m = 33'327, .k = 12, .t = 5}, 2500},
                 {{.m = 33'325, .k = 14, .t = 6}, 2000},
                 {{.m = 33'323, .k = 16, .t = 7}, 2000},
                 {{.m = 33'321, .k = 18, .t = 8}, 2000}};
    for (const auto& [spec, n] : cases) {
        SCOPED_TRACE("m " + std::to_string(spec.m) + " k " + std::to_string(spec.k) + " t " +
                     std::to_string(spec.t));
        const auto m = static_cast<double>(spec.m);
        const double derived =
            spec.t == 1
                ? sizing::shbf_m_fpr_shared(m, n, spec.k, spec.w_bar)
                : sizing::ShbfGroupModel(spec.w_bar, spec.t).fpr(m, static_cast<double>(n), spec.k);
        expect_rate(measure<Membership>(spec, n, derived), derived, 0, kPaper);
    }
}

TEST(shbf_statistical, counting_membership_is_that_of_its_smaller_window) {
    SCOPED_TRACE(seed_note());
    for (const filter::CShbfMSpec& spec : {filter::CShbfMSpec{.m = 20'011, .k = 8, .z = 4},
                                           {.m = 20'011, .k = 8, .z = 2},
                                           {.m = 20'011, .k = 8, .z = 8},
                                           {.m = 20'011, .k = 9, .t = 2, .z = 4}}) {
        SCOPED_TRACE("z " + std::to_string(spec.z) + " t " + std::to_string(spec.t));
        constexpr std::uint64_t kElements = 1500;
        const double derived = sizing::ShbfGroupModel(sizing::shbf_max_w_bar(64, spec.z), spec.t)
                                   .fpr(static_cast<double>(spec.m), kElements, spec.k);
        expect_rate(measure<CountingMembership>(spec, kElements, derived), derived, 0, kPaper);
    }
}

// --- Association ---

constexpr Region kRegions[] = {Region::kFirstOnly, Region::kBoth, Region::kSecondOnly};

// How often each answer occurred for the elements of each region.
using Answers = std::map<Region, std::array<std::uint64_t, 8>>;

constexpr unsigned kAssociationArrays = 12;

Answers measure_association(const filter::ShbfASpec& spec,
                            const std::array<std::uint64_t, 3>& elements) {
    std::mt19937_64 random(seed());
    Answers answers;
    for (unsigned array = 0; array < kAssociationArrays; ++array) {
        AssociationFilter i(spec);
        std::vector<std::pair<Digest, Region>> keys;
        for (unsigned region = 0; region < 3; ++region) {
            for (std::uint64_t key = 0; key < elements[region]; ++key) {
                keys.emplace_back(random(), kRegions[region]);
                i.filter.insert(keys.back().first, keys.back().second);
            }
        }
        for (const auto& [key, region] : keys) {
            ++answers[region][static_cast<unsigned>(i.filter.query(key))];
        }
    }
    return answers;
}

// Return the deviation of an answer's probability between arrays. It follows from h = 2^-k, as the
// probability is (1 - h)^2, h (1 - h) or h^2.
double association_spread(double m, double n, unsigned k) {
    return 2 * std::pow(0.5, k) * array_spread(m, n, k);
}

TEST(shbf_statistical, planned_association_is_clear_enough) {
    SCOPED_TRACE(seed_note());
    for (const double clear : {0.6, 0.9, 0.99}) {
        const auto g = sizing::size_shbf_a(30'000, clear);
        ASSERT_TRUE(g);
        Answers answers = measure_association({.m = g->m, .k = g->k}, {10'000, 10'000, 10'000});
        for (const Region region : kRegions) {
            const double spread = association_spread(static_cast<double>(g->m), 30'000, g->k) /
                                  std::sqrt(kAssociationArrays);
            expect_count(answers[region][static_cast<unsigned>(region)],
                         counts_of({sizing::shbf_a_outcomes(g->k).clear, spread},
                                   10'000.0 * kAssociationArrays),
                         "clear answers");
        }
    }
}

// --- Multiplicity ---

constexpr unsigned kMultiplicityArrays = 40;
constexpr unsigned kAbsent = 20'000;

// By multiplicity; 0 for absent elements.
struct Correct {
    std::array<std::uint64_t, filter::kMaxMultiplicity + 1> asked{};
    std::array<std::uint64_t, filter::kMaxMultiplicity + 1> largest{};
};

Correct measure_multiplicity(const filter::ShbfXSpec& spec, std::uint64_t n) {
    std::mt19937_64 random(seed());
    Correct correct;
    for (unsigned array = 0; array < kMultiplicityArrays; ++array) {
        Multiplicity i(spec);
        std::vector<std::pair<Digest, unsigned>> keys(n + kAbsent);
        for (std::uint64_t key = 0; key < n + kAbsent; ++key) {
            const auto j = static_cast<unsigned>(random() % spec.c + 1);
            keys[key] = {random(), key < n ? j : 0};
            if (key < n) {
                i.filter.insert(keys[key].first, j);
            }
        }
        for (const auto& [key, j] : keys) {
            ++correct.asked[j];
            correct.largest[j] += i.filter.query(key) == j ? 1 : 0;
        }
    }
    return correct;
}

// Return the deviation of a correctness (1 - f0)^others between arrays.
double multiplicity_spread(double m, double n, unsigned k, unsigned others) {
    return others * sizing::shbf_x_chance(m, n, k) * array_spread(m, n, k);
}

TEST(shbf_statistical, planned_multiplicity_is_right_often_enough) {
    SCOPED_TRACE(seed_note());
    constexpr std::uint64_t kElements = 10'000;
    for (const unsigned c : {1U, 8U, 30U, 57U}) {
        for (const double target : {0.8, 0.99}) {
            SCOPED_TRACE("c " + std::to_string(c) + " " + std::to_string(target));
            const auto g = sizing::size_shbf_x(kElements, c, target);
            ASSERT_TRUE(g);
            const Correct correct = measure_multiplicity({.m = g->m, .k = g->k, .c = c}, kElements);
            const double spread =
                multiplicity_spread(static_cast<double>(g->m), kElements, g->k, c) /
                std::sqrt(kMultiplicityArrays);
            expect_count(correct.largest[0],
                         counts_of({target, spread}, static_cast<double>(correct.asked[0])),
                         "absent elements answered 0");
            for (unsigned j = 1; j <= c; ++j) {
                const double formula = sizing::shbf_x_correct_largest(static_cast<double>(g->m),
                                                                      kElements, g->k, c, j);
                expect_count(correct.largest[j],
                             counts_of({formula, spread}, static_cast<double>(correct.asked[j])),
                             "elements of multiplicity " + std::to_string(j));
            }
        }
    }
}

// --- Positions and offsets ---

TEST(shbf_statistical, offsets_are_uniform_and_independent) {
    SCOPED_TRACE(seed_note());
    constexpr unsigned kDraws = 400'000;
    std::mt19937_64 random(seed());
    const filter::ShbfShape shape(3, 2, filter::kMaxWBar);
    constexpr unsigned kRange = 28;
    std::vector<std::uint64_t> pairs(kRange * kRange);
    for (unsigned draw = 0; draw < kDraws; ++draw) {
        const std::uint64_t bits = shape.pattern(random()) >> 1;
        const auto first = static_cast<unsigned>(std::countr_zero(bits));
        const auto second = static_cast<unsigned>(std::bit_width(bits)) - 1 - kRange;
        ++pairs.at(first * kRange + second);
    }
    const Counts allowed = chi_square_bounds(kRange * kRange - 1);
    EXPECT_GE(chi_square(pairs), allowed.low);
    EXPECT_LE(chi_square(pairs), allowed.high);
}

// For an element: two of its positions, and a position and its offset.
TEST(shbf_statistical, positions_are_uniform_and_independent) {
    SCOPED_TRACE(seed_note());
    constexpr unsigned kDraws = 400'000;
    constexpr unsigned kPositions = 31;
    constexpr unsigned kOffsets = 56;
    std::mt19937_64 random(seed());
    const filter::ShbfShape shape(2, 1, filter::kMaxWBar);
    std::vector<std::uint64_t> positions(kPositions * kPositions);
    std::vector<std::uint64_t> offsets(kPositions * kOffsets);
    for (unsigned draw = 0; draw < kDraws; ++draw) {
        const Digest digest = random();
        const auto first = static_cast<unsigned>(filter::first_bit_of(digest, 0, kPositions));
        const auto second = static_cast<unsigned>(filter::first_bit_of(digest, 1, kPositions));
        ++positions.at(first * kPositions + second);
        ++offsets.at(first * kOffsets +
                     static_cast<unsigned>(std::countr_zero(shape.pattern(digest) >> 1)));
    }
    for (const auto& counts : {positions, offsets}) {
        const Counts allowed = chi_square_bounds(static_cast<double>(counts.size() - 1));
        EXPECT_GE(chi_square(counts), allowed.low);
        EXPECT_LE(chi_square(counts), allowed.high);
    }
}

}  // namespace
}  // namespace unecho::test::shbf_test
