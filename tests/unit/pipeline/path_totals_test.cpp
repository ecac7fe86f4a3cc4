// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dedup/pipeline/paths/quantile.h"
#include "dedup/pipeline/paths/totals.h"
#include "support/seed.h"

namespace unecho::pipeline {
namespace {

using Buckets = DelayBuckets<std::uint64_t, double>;

TEST(DelayBuckets, begin_where_their_first_delay_is) {
    for (unsigned bucket = 0; bucket < Buckets::kBuckets; ++bucket) {
        const Nanoseconds begin = Buckets::begin_of(bucket);
        ASSERT_EQ(Buckets::bucket_of(begin), bucket);
        ASSERT_EQ(Buckets::bucket_of(Buckets::begin_of(bucket + 1) - 1), bucket);
        ASSERT_LT(begin, Buckets::begin_of(bucket + 1));
        // From 64 ns on none is wider than a 32nd of its delays.
        const Nanoseconds width = Buckets::begin_of(bucket + 1) - begin;
        ASSERT_LE(width * 32, std::max<Nanoseconds>(begin, 64)) << bucket;
    }
    EXPECT_EQ(Buckets::begin_of(0), Nanoseconds{0});
}

TEST(DelayBuckets, hold_all_longer_delays_in_the_last) {
    const Nanoseconds end = Buckets::begin_of(Buckets::kBuckets);
    EXPECT_GT(end, 18 * 60 * kSecond);
    EXPECT_LT(end, 19 * 60 * kSecond);
    EXPECT_EQ(Buckets::bucket_of(end - 1), Buckets::kBuckets - 1);
    EXPECT_EQ(Buckets::bucket_of(end), Buckets::kBuckets - 1);
    EXPECT_EQ(Buckets::bucket_of(~Nanoseconds{0}), Buckets::kBuckets - 1);
}

TEST(DelayBuckets, contain_any_delay) {
    SCOPED_TRACE(test::seed_note());
    std::mt19937_64 draw(test::seed());
    for (unsigned i = 0; i < 100'000; ++i) {
        const Nanoseconds delay = draw() >> draw() % 64;
        const unsigned bucket = Buckets::bucket_of(delay);
        ASSERT_LT(bucket, Buckets::kBuckets);
        ASSERT_LE(Buckets::begin_of(bucket), delay);
        if (bucket + 1 < Buckets::kBuckets) {
            ASSERT_LT(delay, Buckets::begin_of(bucket + 1));
        }
        ASSERT_LE(bucket, Buckets::bucket_of(delay + (delay == ~Nanoseconds{0} ? 0 : 1)));
    }
}

PathDelays delays_of(const std::vector<Nanoseconds>& values) {
    PathCell cell;
    std::for_each(values.begin(), values.end(), [&](Nanoseconds value) { cell.add_delay(value); });
    return cell.read().delays;
}

std::vector<Nanoseconds> drawn(unsigned count, const std::function<double()>& draw) {
    std::vector<Nanoseconds> values(count);
    std::generate(values.begin(), values.end(),
                  [&] { return static_cast<Nanoseconds>(std::llround(draw())); });
    return values;
}

constexpr std::array kShares{0.001, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0};

// Each quantile lies within 1 % of the exact one, and between the least delay and the most.
void expect_quantiles(std::vector<Nanoseconds> values) {
    const PathDelays delays = delays_of(values);
    std::sort(values.begin(), values.end());
    ASSERT_EQ(delays.least, values.front());
    ASSERT_EQ(delays.most, values.back());
    double before = 0;
    for (const double share : kShares) {
        const double rank = std::ceil(share * static_cast<double>(values.size()));
        const auto exact = static_cast<double>(values[static_cast<std::size_t>(rank) - 1]);
        const double found = quantile(delays, share);
        EXPECT_NEAR(found, exact, 0.01 * exact) << share;
        EXPECT_GE(found, static_cast<double>(values.front()));
        EXPECT_LE(found, static_cast<double>(values.back()));
        EXPECT_GE(found, before);
        before = found;
    }
}

TEST(Quantile, of_equal_delays_is_exact) {
    for (const Nanoseconds delay :
         {Nanoseconds{0}, Nanoseconds{1}, Nanoseconds{63}, Nanoseconds{64}, Nanoseconds{1'234'567},
          30 * kMillisecond + 7, 60 * kSecond + 1, 3600 * kSecond}) {
        const PathDelays delays = delays_of(std::vector<Nanoseconds>(10'000, delay));
        for (const double share : kShares) {
            EXPECT_EQ(quantile(delays, share), static_cast<double>(delay));
        }
    }
}

TEST(Quantile, of_uniform_delays_is_within_one_percent) {
    SCOPED_TRACE(test::seed_note());
    std::mt19937_64 draw(test::seed());
    std::uniform_real_distribution<> uniform(200e3, 5e6);
    expect_quantiles(drawn(100'000, [&] { return uniform(draw); }));
}

// No share is that of the lower delay, where any value between the two would be right.
TEST(Quantile, of_two_delays_is_within_one_percent) {
    std::vector<Nanoseconds> values(30'000, 1'000'000);
    values.insert(values.end(), 70'000, 9'000'000);
    expect_quantiles(values);
    // Both in one bucket.
    std::fill(values.begin(), values.begin() + 30'000, 8'999'000);
    expect_quantiles(values);
}

TEST(Quantile, of_lognormal_delays_is_within_one_percent) {
    SCOPED_TRACE(test::seed_note());
    std::mt19937_64 draw(test::seed());
    std::lognormal_distribution<> lognormal(std::log(3e5), 1);
    expect_quantiles(drawn(200'000, [&] { return lognormal(draw); }));
}

TEST(Quantile, of_one_delay_or_none_is_defined) {
    EXPECT_EQ(quantile(delays_of({5000}), 0.999), 5000);
    EXPECT_EQ(quantile(PathDelays{}, 0.5), 0);
}

TEST(PathCell, keeps_sums_and_variation_of_delays) {
    const PathDelays delays = delays_of({5000, 2000, 2500, 9000});
    EXPECT_EQ(delays.count, 4U);
    EXPECT_EQ(delays.least, 2000U);
    EXPECT_EQ(delays.most, 9000U);
    EXPECT_EQ(delays.sum, 18'500);
    EXPECT_EQ(delays.variation, 3000 + 500 + 6500);
    EXPECT_EQ(delays.first_of_runs, 1U);
    // A delay of 0 is the least, also if it comes first or last.
    EXPECT_EQ(delays_of({0, 7}).least, 0U);
    EXPECT_EQ(delays_of({7, 0}).least, 0U);
}

TEST(PathCell, counts_changes_and_hops_each) {
    PathCell cell;
    cell.add_changes(packet::bit_of(packet::Change::kTtl), 3);
    cell.add_changes(
        packet::bit_of(packet::Change::kTtl) | packet::bit_of(packet::Change::kChecksum), -1);
    cell.add_changes(0, 0);
    const PathCount count = cell.read();
    EXPECT_EQ(count.hops, 2);
    for (std::size_t i = 0; i < count.changes.size(); ++i) {
        const auto change = static_cast<packet::Change>(i);
        EXPECT_EQ(count.changes[i], change == packet::Change::kTtl        ? 2U
                                    : change == packet::Change::kChecksum ? 1U
                                                                          : 0U);
    }
}

// The sum of two workers' counts has the quantiles of all delays together.
TEST(PathCount, of_several_workers_adds_up) {
    SCOPED_TRACE(test::seed_note());
    std::mt19937_64 draw(test::seed());
    std::vector<Nanoseconds> all;
    std::array<PathCell, 3> cells;  // the last one stays empty
    for (unsigned i = 0; i < 2000; ++i) {
        const Nanoseconds delay = 1000 + draw() % 1'000'000;
        all.push_back(delay);
        cells[i % 2].add_delay(delay);
        cells[i % 2].add(&PathCounters::came);
        cells[i % 2].add_changes(packet::bit_of(packet::Change::kTtl), 1);
    }
    PathCount sum;
    for (const unsigned i : {2U, 0U, 2U, 1U}) {
        sum += cells.at(i).read();
    }
    const PathDelays expected = delays_of(all);
    EXPECT_EQ(sum.counters.came, 2000U);
    EXPECT_EQ(sum.counters.timed, 2000U);
    EXPECT_EQ(sum.changes[static_cast<std::size_t>(packet::Change::kTtl)], 2000U);
    EXPECT_EQ(sum.hops, 2000);
    EXPECT_EQ(sum.delays.count, 2000U);
    EXPECT_EQ(sum.delays.first_of_runs, 2U);
    EXPECT_EQ(sum.delays.least, expected.least);
    EXPECT_EQ(sum.delays.most, expected.most);
    EXPECT_DOUBLE_EQ(sum.delays.sum, expected.sum);
    for (const double share : kShares) {
        EXPECT_NEAR(quantile(sum.delays, share), quantile(expected, share), 1) << share;
    }
}

}  // namespace
}  // namespace unecho::pipeline
