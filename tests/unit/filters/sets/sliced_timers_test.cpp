// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/sliced_timers.h"

#include <string>

#include <gtest/gtest.h>

#include "base/ids.h"
#include "support/sanitizers.h"
#include "support/slices.h"

namespace unecho::filter::sliced_timers_test {
namespace {

using Instance = test::SlicedInstance<SlicedTimers, SlicedTimersParams>;

constexpr SliceGeometry kRoomy{.slicing = Slicing::kVertical, .k = 4, .m = 40000, .S = 5};

SlicedTimersParams params(const SlicedTimersSpec& spec) {
    return *SlicedTimersParams::make(spec);
}

std::string message(const SlicedTimersSpec& spec) {
    const auto made = SlicedTimersParams::make(spec);
    return made ? "valid" : made.error().context;
}

TEST(sliced_timers_params, limits_are_named) {
    EXPECT_EQ(message({.geometry = kRoomy, .w = 1}), "valid");
    EXPECT_EQ(message({.geometry = kRoomy, .w = 65534, .x = 4}), "valid");
    EXPECT_EQ(message({.geometry = kRoomy, .w = 0}),
              "sliced timers: w = 0 ticks; allowed: 1 to 65534");
    EXPECT_EQ(message({.geometry = kRoomy, .w = 65535}),
              "sliced timers: w = 65535 ticks; allowed: 1 to 65534");
    EXPECT_EQ(message({.geometry = kRoomy, .w = 9, .x = 0}),
              "sliced timers: x = 0 equal timers; allowed: 1 to k = 4");
    EXPECT_EQ(message({.geometry = kRoomy, .w = 9, .x = 5}),
              "sliced timers: x = 5 equal timers; allowed: 1 to k = 4");
    EXPECT_EQ(message({.geometry = kRoomy, .w = 9, .live = 1}),
              "sliced timers: live cells = 1; allowed: 0 unless failed = at least");
    EXPECT_EQ(message({.geometry = {.k = 0, .m = 8}, .w = 9}),
              "sliced timers: k = 0; allowed: 1 to 64");
    EXPECT_EQ(message({.geometry = {.k = 1, .m = std::uint64_t{1} << 45}, .w = 9}), "valid");
    EXPECT_EQ(message({.geometry = {.k = 1, .m = (std::uint64_t{1} << 45) + 1}, .w = 9}),
              "sliced timers: m = 35184372088833; allowed: multiples of S S' = 1 up to "
              "35184372088832");
}

TEST(sliced_timers_params, memory_and_scan) {
    EXPECT_EQ(SlicedTimers::slice_bytes(params({.geometry = kRoomy, .w = 1})), 16000u);
    EXPECT_EQ(params({.geometry = kRoomy, .w = 1}).scanned_per_tick(), 1u);
    EXPECT_EQ(params({.geometry = kRoomy, .w = 65535 - 40000}).scanned_per_tick(), 1u);
    EXPECT_EQ(params({.geometry = kRoomy, .w = 65536 - 40000}).scanned_per_tick(), 2u);
    EXPECT_EQ(params({.geometry = kRoomy, .w = 65534}).scanned_per_tick(), 40000u);
}

TEST(sliced_timers, time_does_not_go_back) {
    Instance i(params({.geometry = kRoomy, .w = 3}));
    i.filter.advance({.generation = 7});
    i.filter.advance({.generation = 4});
    EXPECT_EQ(i.filter.now(), 7u);
    i.filter.clear();
    EXPECT_EQ(i.filter.now(), 7u);
}

// For any window, an expired timer never looks young again when its 16 bits wrap.
TEST(sliced_timers, expired_timers_do_not_come_back) {
    constexpr Digest kDigests = test::quarter_under_asan(30);
    const SliceGeometry odd{.slicing = Slicing::kVertical, .k = 3, .m = 9 * 7, .S = 7};
    for (const unsigned w : {1U, 100U, 65500U, 65533U, 65534U}) {
        for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{w == 1 ? 1 : w - 1}}) {
            Instance i(params({.geometry = odd, .w = w}));
            for (Digest digest = 0; digest < kDigests; ++digest) {
                i.filter.insert(digest);
            }
            std::uint64_t now = w - 1;
            i.filter.advance({.generation = now});
            ASSERT_TRUE(i.filter.query(0));
            while (now < 3 * kTimerCycle) {
                now += step;
                i.filter.advance({.generation = now});
                for (Digest digest = 0; digest < kDigests; ++digest) {
                    ASSERT_FALSE(i.filter.query(digest)) << w << " at " << now;
                }
            }
        }
    }
}

TEST(sliced_timers, long_silence_clears_all_slices_at_once) {
    Instance i(params({.geometry = kRoomy, .w = 9}));
    i.filter.insert(42);
    i.filter.advance({.generation = 8});
    EXPECT_EQ(i.filter.counters().inline_clears, 0u);
    EXPECT_EQ(i.filter.counters().shifts, 8u);
    i.filter.fail(1);
    i.filter.advance({.generation = std::uint64_t{1} << 40});
    EXPECT_EQ(i.filter.counters().inline_clears, 4u);
    EXPECT_EQ(i.filter.counters().shifts, 17u);
    i.filter.restore(1);
    EXPECT_FALSE(i.filter.query(42));
    i.filter.insert(43);
    i.filter.advance({.generation = (std::uint64_t{1} << 40) + 8});
    EXPECT_TRUE(i.filter.query(43));
    i.filter.advance({.generation = (std::uint64_t{1} << 40) + 9});
    EXPECT_FALSE(i.filter.query(43));
}

TEST(sliced_timers, probe_tells_groups_only_if_they_matter) {
    const SliceGeometry single{.k = 3, .m = 3000};
    Instance plain(params({.geometry = single, .w = 20}));
    Instance heuristic(params({.geometry = single, .w = 20, .x = 2}));
    EXPECT_EQ(plain.filter.probe(1).equal, 0u);
    plain.filter.insert(1);
    heuristic.filter.insert(1);
    EXPECT_EQ(plain.filter.probe(1).young, 3u);
    EXPECT_EQ(plain.filter.probe(1).equal, 1u);
    EXPECT_EQ(heuristic.filter.probe(1).equal, 3u);
}

TEST(sliced_timers, messages_go_to_live_slices_once) {
    Instance i(params({.geometry = {.k = 4, .m = 4000, .S = 2}, .w = 100}));
    for (Digest digest = 0; digest < 10; ++digest) {
        i.filter.test_and_insert(digest);
        i.filter.query(digest);
    }
    EXPECT_EQ(i.filter.messages(), 20u);
    const std::uint64_t in_second = i.filter.slices()[1].accesses / 8;
    i.filter.fail(0);
    for (Digest digest = 0; digest < 10; ++digest) {
        i.filter.query(digest);
    }
    EXPECT_EQ(i.filter.messages(), 20 + in_second);
}

}  // namespace
}  // namespace unecho::filter::sliced_timers_test
