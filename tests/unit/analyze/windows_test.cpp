// SPDX-License-Identifier: BSD-3-Clause
// All windows at once, compared with a table for one window at a time.
#include "captures/analyze/tally/windows.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace unecho::analyze {
namespace {

// Policy fixed by definition, for one key and one window.
class Fixed {
  public:
    explicit Fixed(Nanoseconds window) : window_(window) {}

    bool drop(Nanoseconds now) {
        if (accepted_ && now - *accepted_ < window_) {
            return true;
        }
        accepted_ = now;
        return false;
    }

  private:
    Nanoseconds window_;
    std::optional<Nanoseconds> accepted_;
};

std::vector<Fixed> every_window() {
    return {kWindowBuckets.begin(), kWindowBuckets.end()};
}

WindowMask ask_each(std::vector<Fixed>& windows, Nanoseconds now) {
    WindowMask mask = 0;
    for (unsigned i = 0; i < kWindows; ++i) {
        mask |= windows[i].drop(now) ? WindowMask{1} << i : 0;
    }
    return mask;
}

TEST(BucketTimes, is_1_2_5_from_100_ns_to_1000_s_and_then_without_end) {
    EXPECT_EQ(kWindowBuckets[0], 100U);
    EXPECT_EQ(kWindowBuckets[1], 200U);
    EXPECT_EQ(kWindowBuckets[2], 500U);
    EXPECT_EQ(kWindowBuckets[3], kMicrosecond);
    EXPECT_EQ(kWindowBuckets[30], 1000 * kSecond);
    EXPECT_EQ(kWindowBuckets[31], kNoWindowEnd);
}

TEST(Rank, is_the_number_of_such_windows_at_every_edge) {
    for (const Nanoseconds window : kWindowBuckets) {
        for (const Nanoseconds age : {window - 1, window, window + 1, 2 * window - 1}) {
            if (age < kNoWindowEnd) {
                EXPECT_EQ(windows_up_to(age),
                          std::count_if(kWindowBuckets.begin(), kWindowBuckets.end(),
                                        [&](Nanoseconds one) { return one <= age; }))
                    << age;
            }
        }
    }
}

// Return a gap of any magnitude, sometimes at the edge of a window.
Nanoseconds random_gap(std::mt19937_64& random) {
    const unsigned i = static_cast<unsigned>(random() % 31);
    const Nanoseconds window = kWindowBuckets[i];
    switch (random() % 5) {
        case 0:
            return 0;
        case 1:
            return window;
        case 2:
            return window - 1;
        default:
            return random() % window;
    }
}

TEST(BucketTimesPool, drop_with_every_window_what_policy_fixed_drops) {
    std::mt19937_64 random(1);
    std::uint64_t with_ladder = 0;
    for (unsigned key = 0; key < 20'000; ++key) {
        BucketTimesPool pool(1);
        std::vector<Fixed> oracle = every_window();
        Nanoseconds now = random() % kSecond;
        ask_each(oracle, now);
        AcceptedTimes times = BucketTimesPool::first(now);
        Nanoseconds last = now;
        const unsigned packets = 2 + static_cast<unsigned>(random() % 12);
        for (unsigned i = 1; i < packets; ++i) {
            now += random_gap(random);
            ASSERT_EQ(pool.step(times, std::exchange(last, now), now), ask_each(oracle, now))
                << "key " << key << " packet " << i;
        }
        with_ladder += times.bucket_times != kNoBucketTimes ? 1 : 0;
    }
    EXPECT_GT(with_ladder, 1000U);
    EXPECT_LT(with_ladder, 19'000U);
}

TEST(BucketTimesPool, keys_share_a_pool_and_give_back) {
    std::mt19937_64 random(2);
    BucketTimesPool pool(64);
    for (unsigned round = 0; round < 200; ++round) {
        std::array<AcceptedTimes, 64> keys;
        keys.fill(BucketTimesPool::first(0));
        std::array<Nanoseconds, 64> last{};
        std::vector<std::vector<Fixed>> oracles(keys.size(), every_window());
        for (auto& oracle : oracles) {
            ask_each(oracle, 0);
        }
        Nanoseconds now = 0;
        for (unsigned i = 0; i < 500; ++i) {
            now += random_gap(random) / 1000;
            const std::size_t key = random() % keys.size();
            ASSERT_EQ(pool.step(keys[key], std::exchange(last[key], now), now),
                      ask_each(oracles[key], now));
        }
        for (AcceptedTimes& key : keys) {
            pool.release(key);
        }
    }
    EXPECT_EQ(pool.taken(), 0U);
}

// Give the key three times: for windows up to 5 us, up to 10 us and longer. It needs bucket times.
void need_bucket_times(BucketTimesPool& pool, AcceptedTimes& key) {
    pool.step(key, 0, 10 * kMicrosecond);
    pool.step(key, 10 * kMicrosecond, 15 * kMicrosecond);
    ASSERT_NE(key.bucket_times, kNoBucketTimes);
}

TEST(BucketTimesPool, beyond_their_number_another_key_keeps_two_times) {
    BucketTimesPool pool(1);
    AcceptedTimes a = BucketTimesPool::first(0);
    AcceptedTimes b = BucketTimesPool::first(0);
    need_bucket_times(pool, a);
    a.other_point = 5;
    a.lead = -2;
    a.looks = 3;
    need_bucket_times(pool, b);
    EXPECT_EQ(a.other_point, 5U);  // the pool leaves what it does not own
    EXPECT_EQ(a.lead, -2);
    EXPECT_EQ(a.looks, 3U);
    EXPECT_EQ(pool.taken(), 1U);
    EXPECT_EQ(a.bucket_times, kNoBucketTimes);
    EXPECT_EQ(a.high, 0U);
    // The shortest windows and the endless one are still right.
    const WindowMask dropped = pool.step(a, 15 * kMicrosecond, 15 * kMicrosecond + 99);
    EXPECT_TRUE(dropped & 1U);
    EXPECT_TRUE(dropped >> 31);
}

// After the copy each key continues by itself, with any bucket times.
TEST(BucketTimesPool, copied_key_has_the_same_times_and_its_own) {
    std::mt19937_64 random(3);
    for (unsigned round = 0; round < 500; ++round) {
        BucketTimesPool from(1);
        BucketTimesPool to(1);
        AcceptedTimes one = BucketTimesPool::first(0);
        std::vector<Fixed> oracle = every_window();
        ask_each(oracle, 0);
        Nanoseconds now = 0;
        Nanoseconds last = 0;
        for (unsigned i = 0; i < round % 40; ++i) {
            now += random_gap(random) / 1000;
            from.step(one, std::exchange(last, now), now);
            ask_each(oracle, now);
        }
        AcceptedTimes other = one;
        to.adopt(other, last, from);
        std::vector<Fixed> others = oracle;
        Nanoseconds others_last = last;
        for (unsigned i = 0; i < 20; ++i) {
            now += random_gap(random) / 1000;
            if (random() % 2 == 0) {
                ASSERT_EQ(from.step(one, std::exchange(last, now), now), ask_each(oracle, now));
            } else {
                ASSERT_EQ(to.step(other, std::exchange(others_last, now), now),
                          ask_each(others, now));
            }
        }
    }
}

TEST(BucketTimesPool, copy_that_takes_the_only_one_has_its_times) {
    BucketTimesPool pool(1);
    AcceptedTimes one = BucketTimesPool::first(0);
    need_bucket_times(pool, one);
    AcceptedTimes other = one;
    pool.adopt(other, 15 * kMicrosecond, pool);
    EXPECT_EQ(one.bucket_times, kNoBucketTimes);
    ASSERT_NE(other.bucket_times, kNoBucketTimes);
    EXPECT_EQ(pool.step(other, 15 * kMicrosecond, 18 * kMicrosecond), from(5));
}

TEST(WindowCounts, count_packets_and_bytes_of_each_window) {
    WindowCounts counts;
    counts.add(from(3), 100);
    counts.add(from(31), 1000);
    counts.add(0, 5);
    counts.add(0b1010, 10);  // windows that are not adjacent
    EXPECT_EQ(counts.at(0), (Count{0, 0}));
    EXPECT_EQ(counts.at(1), (Count{1, 10}));
    EXPECT_EQ(counts.at(2), (Count{0, 0}));
    EXPECT_EQ(counts.at(3), (Count{2, 110}));
    EXPECT_EQ(counts.at(4), (Count{1, 100}));
    EXPECT_EQ(counts.at(31), (Count{2, 1100}));
}

}  // namespace
}  // namespace unecho::analyze
