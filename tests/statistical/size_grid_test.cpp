// SPDX-License-Identifier: BSD-3-Clause
// What `unecho size` predicts, measured: for a grid of windows, rates and bounds, each engine's
// geometry is filled at the planned rate, and foreign keys are asked for just before a shift.
#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "filter/apbbf.h"
#include "filter/apbf.h"
#include "filter/apshbf.h"
#include "filter/btbf.h"
#include "sizing/btbf.h"
#include "sizing/sizing.h"
#include "statistical/model.h"
#include "support/filter_memory.h"
#include "support/seed.h"

namespace unecho::test {
namespace {

struct ApbfEngine {
    using Filter = filter::Apbf;
    static auto size(const sizing::Targets& targets) { return sizing::size_apbf(targets); }
    static auto params(const sizing::ApbfGeometry& g) {
        return filter::ApbfParams::make({.k = g.k, .l = g.l, .m = g.m});
    }
};

struct ApbbfEngine {
    using Filter = filter::Apbbf;
    static auto size(const sizing::Targets& targets) { return sizing::size_apbbf(targets); }
    static auto params(const sizing::ApbbfGeometry& g) {
        return filter::ApbbfParams::make(
            {.k = g.k, .l = g.l, .B = g.B, .b = g.b, .blocks = g.blocks});
    }
};

struct ShbfEngine {
    using Filter = filter::Apshbf;
    static auto size(const sizing::Targets& targets) { return sizing::size_apshbf(targets); }
    static auto params(const sizing::ApshbfGeometry& g) {
        return filter::ApshbfParams::make({.k = g.k, .l = g.l, .m = g.m, .b = g.b});
    }
};

struct BtbfEngine {
    using Filter = filter::TimedBtbf;
    static auto size(const sizing::Targets& targets) { return sizing::size_btbf(targets); }
    static auto params(const sizing::BtbfGeometry& g) {
        return filter::TimedBtbfParams::make({.l = g.l, .k = g.k, .m = g.m, .bpt = g.bits});
    }
};

template <typename Engine>
class SizeGrid : public testing::Test {};
using Engines = testing::Types<ApbfEngine, ApbbfEngine, ShbfEngine, BtbfEngine>;
TYPED_TEST_SUITE(SizeGrid, Engines);

// The rate in each of several tables that have nothing in common but the geometry; it is compared
// by the mean of them and the error of that mean, whatever the tables' spread.
template <typename Engine>
void check(const sizing::Targets& targets) {
    constexpr unsigned kTables = 40;
    constexpr double kMatches = 400;  // expected in a table
    constexpr double kMaxQueries = 60'000;
    const auto geometry = Engine::size(targets);
    ASSERT_TRUE(geometry) << geometry.error().context;
    const auto predicted = predict(*geometry, targets.window, targets.keys_per_second);
    EXPECT_LE(predicted.false_drop, targets.max_false_drop);
    const auto params = Engine::params(*geometry);
    ASSERT_TRUE(params) << params.error().context;
    FilterMemory memory(Engine::Filter::bytes(*params));
    typename Engine::Filter filter(*params, memory.span());
    const std::uint64_t cycle =
        (targets.window + predicted.slack) / predicted.generation + 1;  // until nothing is left
    const auto queries = static_cast<std::uint64_t>(
        std::min(kMaxQueries, std::ceil(kMatches / predicted.false_drop)));
    std::mt19937_64 random(seed());
    double sum = 0;
    double squares = 0;
    for (std::uint64_t generation = 1; generation <= kTables * cycle; ++generation) {
        filter.advance({.generation = generation});
        for (std::uint64_t key = 0; key < predicted.generation_keys; ++key) {
            filter.insert(random());
        }
        if (generation % cycle != 0) {
            continue;
        }
        std::uint64_t matches = 0;
        for (std::uint64_t query = 0; query < queries; ++query) {
            matches += filter.query(random()) ? 1 : 0;
        }
        const double rate = static_cast<double>(matches) / static_cast<double>(queries);
        sum += rate;
        squares += rate * rate;
    }
    const double mean = sum / kTables;
    // Not less than what chance alone does to the count of matches.
    const double sampling = predicted.false_drop / static_cast<double>(queries);
    const double variance = std::max(squares / kTables - mean * mean, sampling);
    // Student's t with 39 degrees of freedom has kAlpha beyond 5.8.
    const double error = 5.8 * std::sqrt(variance / (kTables - 1));
    EXPECT_NEAR(mean, predicted.false_drop, error);
}

TYPED_TEST(SizeGrid, predictions_are_what_is_measured) {
    for (const Nanoseconds window : {10 * kMillisecond, kSecond}) {
        for (const double keys : {300.0, 3'000.0}) {
            for (const double max_false_drop : {3e-2, 3e-3, 3e-4}) {
                const double rate = keys * kSecond / static_cast<double>(window);
                SCOPED_TRACE(seed_note() + " window " + format_duration(window) + " rate " +
                             format_rate(rate) + " bound " + std::to_string(max_false_drop));
                check<TypeParam>({window, rate, max_false_drop});
            }
        }
    }
}

}  // namespace
}  // namespace unecho::test
