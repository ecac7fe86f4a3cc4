// SPDX-License-Identifier: BSD-3-Clause
// Measured rates and messages of sliced filters against their formulas. tests/property shows that
// filters, timers, chains and trees do as defined; tests/unit/sizing has their other formulas.
#include "filters/sizing/sets/slicing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "filters/sets/sliced.h"
#include "model.h"
#include "support/bounds.h"
#include "support/seed.h"
#include "support/slices.h"

namespace unecho::test::slicing_test {
namespace {

using namespace filter;
namespace formula = sizing::slicing;

using Sliced = SlicedInstance<SlicedFilter, SlicedParams>;

double real(std::uint64_t n) {
    return static_cast<double>(n);
}

// --- Predictions for a sliced filter ---

// Return the number of groups of slices; the bits of one key lie in one group.
unsigned groups_of(const SliceGeometry& g) {
    const bool named_first = g.slicing == Slicing::kHorizontal || g.slicing == Slicing::kDicedHv;
    return named_first ? g.S : g.S2;
}

// Return the false-positive rate of one table, over tables of n keys. A group is a filter with a
// binomial load. Its fill varies around the mean, which to second order raises the mean of its k-th
// power. Loads of groups are negatively correlated, so the deviation is an upper bound.
Rate rate_of_tables(const SliceGeometry& g, std::uint64_t n, double tables) {
    const double groups = groups_of(g);
    const double bits = real(g.m) / groups;
    const double k = g.k;
    const auto moment = [&](double load, double power) {
        const Fill fill = fill_of_bits(bits, k * load);
        if (fill.mean == 0) {
            return 0.0;
        }
        return std::pow(fill.mean, power) *
               (1 + power * (power - 1) / 2 * fill.variance / (fill.mean * fill.mean));
    };
    double mean = 0;
    double square = 0;
    if (groups == 1) {
        mean = moment(real(n), k);
        square = moment(real(n), 2 * k);
    } else {
        const double q = 1 / groups;
        for (double load = 0; load <= real(n); load += 1) {
            const double weight = std::exp(std::lgamma(real(n) + 1) - std::lgamma(load + 1) -
                                           std::lgamma(real(n) - load + 1) + load * std::log(q) +
                                           (real(n) - load) * std::log1p(-q));
            mean += weight * moment(load, k);
            square += weight * moment(load, 2 * k);
        }
    }
    return {mean, std::sqrt(std::max(0.0, square - mean * mean) / groups / tables)};
}

SliceGeometry cut(Slicing slicing, unsigned k, std::uint64_t m, unsigned S, unsigned S2 = 1) {
    return {.slicing = slicing, .k = k, .m = m, .S = S, .S2 = S2};
}

std::string text(const SliceGeometry& g) {
    return "slicing " + std::to_string(static_cast<int>(g.slicing)) + " k " + std::to_string(g.k) +
           " m " + std::to_string(g.m) + " S " + std::to_string(g.S) + " S' " +
           std::to_string(g.S2);
}

// Return twelve geometries of each slicing; diced ones take S and S' from the plain ones in turn.
std::vector<SliceGeometry> geometries(Slicing slicing) {
    const bool diced = slicing == Slicing::kDicedHv || slicing == Slicing::kDicedVh;
    std::vector<SliceGeometry> result;
    for (const auto& [k, S, cells] : {std::tuple{4U, 1U, 12'000U},
                                      {4U, 2U, 6'000U},
                                      {4U, 10U, 1'200U},
                                      {4U, 40U, 300U},
                                      {1U, 3U, 4'001U},
                                      {2U, 7U, 2'003U},
                                      {3U, 16U, 900U},
                                      {5U, 5U, 3'001U},
                                      {7U, 100U, 131U},
                                      {8U, 12U, 1'500U},
                                      {10U, 6U, 2'500U},
                                      {16U, 30U, 777U}}) {
        const unsigned S2 = diced ? 2 + k % 3 : 1;
        const unsigned per_slice = std::max(1U, cells / S2);
        result.push_back(cut(slicing, k, std::uint64_t{per_slice} * S * S2, S, S2));
    }
    return result;
}

class SlicedRates : public testing::TestWithParam<Slicing> {};

// At 1/4, 1/2, 1 and 2 times the load that fills to 1/2; also the messages of a query.
TEST_P(SlicedRates, false_positives_and_messages_as_predicted) {
    SCOPED_TRACE(seed_note());
    constexpr unsigned kTables = 30;
    constexpr unsigned kQueries = 2'500;
    for (const SliceGeometry& g : geometries(GetParam())) {
        SCOPED_TRACE(text(g));
        std::mt19937_64 random(seed());
        const auto half = static_cast<std::uint64_t>(0.6931 * real(g.m) / g.k);
        const std::vector<std::uint64_t> loads = {half / 4, half / 2, half, 2 * half};
        std::vector<std::uint64_t> positives(loads.size());
        std::uint64_t messages = 0;
        for (unsigned table = 0; table < kTables; ++table) {
            Sliced i(*SlicedParams::make({.geometry = g}));
            std::uint64_t inserted = 0;
            for (std::size_t phase = 0; phase < loads.size(); ++phase) {
                for (; inserted < loads[phase]; ++inserted) {
                    i.filter.insert(random());
                }
                const std::uint64_t before = i.filter.counters().messages;
                for (unsigned q = 0; q < kQueries; ++q) {
                    positives[phase] += i.filter.query(random()) ? 1 : 0;
                }
                messages += i.filter.counters().messages - before;
            }
        }
        for (std::size_t phase = 0; phase < loads.size(); ++phase) {
            const Rate rate = rate_of_tables(g, loads[phase], kTables);
            expect_count(positives[phase], counts_of(rate, kTables * kQueries),
                         "false positives at " + std::to_string(loads[phase]));
            const double predicted =
                formula::fpr_horizontal_loads(real(g.m), g.k, groups_of(g), loads[phase]);
            EXPECT_NEAR(rate.mean, predicted, 0.15 * predicted);  // to second order
        }
        const unsigned spread = g.slices() / groups_of(g);
        const double trials = kTables * kQueries * real(loads.size());
        const double away =
            kDeviations * std::sqrt(trials * formula::contacted_variance(spread, g.k));
        EXPECT_NEAR(real(messages), trials * formula::contacted(spread, g.k), away + 0.5);
    }
}

INSTANTIATE_TEST_SUITE_P(all, SlicedRates,
                         testing::Values(Slicing::kHorizontal, Slicing::kVertical,
                                         Slicing::kDicedHv, Slicing::kDicedVh));

}  // namespace
}  // namespace unecho::test::slicing_test
