// SPDX-License-Identifier: BSD-3-Clause
#include "filters/tap_report.h"

#include <bit>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "support/filter_memory.h"

namespace unecho::filter::tap_report_test {
namespace {

constexpr SetOfTwo kA = SetOfTwo::kFirst;
constexpr SetOfTwo kB = SetOfTwo::kSecond;

// Wide enough that a handful of flows never match by accident; an array has 12,544 bytes.
constexpr ShbfASpec kWide{.m = 100'003, .k = 8};

std::vector<std::uint64_t> as_list(const TapCounts& counts) {
    return {counts.only_a, counts.only_b, counts.both};
}
using List = std::vector<std::uint64_t>;

unsigned set_bits(std::span<const std::byte> memory) {
    unsigned bits = 0;
    for (const std::byte byte : memory) {
        bits += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(byte)));
    }
    return bits;
}

struct Flows {
    ShbfAParams params = *ShbfAParams::make(kWide);
    test::FilterMemory memory{TapFlows::bytes(params)};
    TapFlows flows{params, memory.span()};
    // The array of the first window, to set bits that were never reported to the filter.
    ShbfA array{params, memory.span().first(ShbfA::bytes(params))};
};

// The rule of the header for every answer. For tap A, `own` is A's bit and `other` is B's.
TEST(TapFlows, change_only_by_answers_with_one_reading) {
    enum Change { kNothing, kNew, kJoins };
    const struct {
        bool own, both, other;
        Change change;
        Change change_if_none_is_there;
    } table[] = {{false, false, false, kNew, kNew},        {false, true, false, kNew, kNew},
                 {false, false, true, kJoins, kNew},       {false, true, true, kNothing, kNothing},
                 {true, false, false, kNothing, kNothing}, {true, true, false, kNothing, kNothing},
                 {true, false, true, kNothing, kNothing},  {true, true, true, kNothing, kNothing}};
    for (const auto& row : table) {
        for (const SetOfTwo tap : {kA, kB}) {
            for (const bool one_there : {false, true}) {
                SCOPED_TRACE(std::string(tap == kA ? "A" : "B") + " own " +
                             std::to_string(row.own) + " both " + std::to_string(row.both) +
                             " other " + std::to_string(row.other) + " there " +
                             std::to_string(one_there));
                Flows i;
                if (one_there) {
                    i.flows.add(99, tap == kA ? kB : kA);
                }
                const auto put = [&](bool wanted, Region region) {
                    if (wanted) {
                        i.array.insert(7, region);
                    }
                };
                put(row.own, tap == kA ? Region::kFirstOnly : Region::kSecondOnly);
                put(row.both, Region::kBoth);
                put(row.other, tap == kA ? Region::kSecondOnly : Region::kFirstOnly);
                i.flows.add(7, tap);
                const Change change = one_there ? row.change : row.change_if_none_is_there;
                const std::uint64_t here = change == kNew ? 1 : 0;
                const std::uint64_t there = one_there && change != kJoins ? 1 : 0;
                const std::uint64_t both = change == kJoins ? 1 : 0;
                EXPECT_EQ(as_list(i.flows.counts()),
                          tap == kA ? (List{here, there, both}) : (List{there, here, both}));
                // A second packet never changes anything.
                const unsigned bits = set_bits(i.memory.span());
                i.flows.add(7, tap);
                EXPECT_EQ(i.flows.counts().flows(), here + there + both);
                EXPECT_EQ(set_bits(i.memory.span()), bits);
            }
        }
    }
}

TEST(TapFlows, of_a_window_that_ended_are_cleared_in_steps) {
    Flows i;
    const std::size_t array = ShbfA::bytes(i.params);
    const std::span<std::byte> arrays = i.memory.span().first(2 * array);
    EXPECT_TRUE(i.flows.cleared()) << "the caller zeroed it";
    for (Digest flow = 0; flow < 1000; ++flow) {
        i.flows.add(flow, kA);
    }
    i.flows.turn();
    EXPECT_FALSE(i.flows.cleared());
    const std::span<std::byte> old = i.memory.span().first(array);
    EXPECT_GT(set_bits(old), 7000U) << "nothing is cleared on turning";
    i.flows.add(1, kB);
    std::size_t done = 0;
    for (; done + 1000 < array; done += 1000) {
        i.flows.clear_some(1000);
        ASSERT_FALSE(i.flows.cleared());
        ASSERT_EQ(set_bits(old.first(done + 1000)), 0U);
        ASSERT_GT(set_bits(old.subspan(done + 1000)), 0U);
    }
    i.flows.clear_some(array - done - 1);
    EXPECT_FALSE(i.flows.cleared()) << "a byte is left";
    i.flows.clear_some(1);
    EXPECT_TRUE(i.flows.cleared());
    EXPECT_EQ(set_bits(old), 0U);
    EXPECT_EQ(set_bits(arrays), 8U) << "the present window stays as it is";
    i.flows.clear_some(1 << 20);
    EXPECT_EQ(set_bits(arrays), 8U);
}

TEST(TapFlows, of_a_window_that_ends_early_are_cleared_all_the_same) {
    Flows i;
    for (Digest flow = 0; flow < 500; ++flow) {
        i.flows.add(flow, kA);
    }
    i.flows.turn();
    i.flows.clear_some(100);
    i.flows.add(3, kB);
    EXPECT_EQ(as_list(i.flows.turn()), (List{0, 1, 0}));
    for (Digest flow = 0; flow < 500; ++flow) {
        i.flows.add(flow, kB);
    }
    EXPECT_EQ(as_list(i.flows.counts()), (List{0, 500, 0}));
}

TEST(TapFlows, have_two_arrays_of_whole_lines_and_one_of_their_own) {
    const ShbfAParams params = *ShbfAParams::make({.m = 457, .k = 4});
    EXPECT_EQ(TapFlows::bytes(params), 320U);
}

struct Windows {
    ShbfAParams params = *ShbfAParams::make(kWide);
    test::FilterMemory memory{TapReport::bytes(params)};
    TapReport report{params, 10, memory.span()};

    void observe(Nanoseconds now, Digest flow, SetOfTwo tap) {
        report.advance(now);
        report.add(flow, tap);
    }
};

TEST(TapReport, without_a_packet_has_no_window) {
    const Windows i;
    EXPECT_FALSE(i.report.summary().begun);
    EXPECT_FALSE(i.report.summary().ended);
    EXPECT_EQ(i.report.window(), 10U);
}

TEST(TapReport, begins_with_the_window_of_the_first_time) {
    for (const Nanoseconds now : {0U, 9U, 10U, 19U, 20U}) {
        Windows by_packets;
        by_packets.report.advance(now);
        EXPECT_EQ(by_packets.report.summary().present.number, now / 10);
        Windows by_clock;
        by_clock.report.tick(now);
        EXPECT_EQ(by_clock.report.summary().present.number, now / 10);
        EXPECT_FALSE(by_clock.report.summary().ended);
    }
}

TEST(TapReport, ends_a_window_at_its_multiple) {
    Windows i;
    i.observe(20, 1, kA);
    i.observe(29, 1, kB);
    TapSummary s = i.report.summary();
    EXPECT_TRUE(s.begun);
    EXPECT_FALSE(s.ended);
    EXPECT_EQ(s.present.number, 2U);
    EXPECT_EQ(as_list(s.present.counts), (List{0, 0, 1}));
    EXPECT_EQ(s.before.flows(), 0U);

    i.observe(30, 1, kA);
    i.observe(39, 2, kA);
    s = i.report.summary();
    EXPECT_TRUE(s.ended);
    EXPECT_EQ(s.last.number, 2U);
    EXPECT_EQ(as_list(s.last.counts), (List{0, 0, 1}));
    EXPECT_EQ(s.present.number, 3U);
    EXPECT_EQ(as_list(s.present.counts), (List{2, 0, 0}));
    EXPECT_EQ(as_list(s.before), (List{0, 0, 1}));

    i.observe(40, 3, kB);
    s = i.report.summary();
    EXPECT_EQ(s.last.number, 3U);
    EXPECT_EQ(as_list(s.last.counts), (List{2, 0, 0}));
    EXPECT_EQ(as_list(s.before), (List{2, 0, 1}));
}

// The last possible window would end beyond 64 bits.
TEST(TapReport, of_the_last_window_of_all_does_not_end) {
    constexpr Nanoseconds kMost = std::numeric_limits<Nanoseconds>::max();
    Windows i;
    i.observe(kMost / 10 * 10 - 1, 1, kA);
    i.observe(kMost / 10 * 10, 2, kA);
    i.observe(kMost - 2, 2, kB);
    i.observe(kMost - 1, 3, kB);
    const TapSummary s = i.report.summary();
    EXPECT_EQ(s.last.number, kMost / 10 - 1);
    EXPECT_EQ(as_list(s.last.counts), (List{1, 0, 0}));
    EXPECT_EQ(s.present.number, kMost / 10);
    EXPECT_EQ(as_list(s.present.counts), (List{0, 1, 1}));
}

// 12,544 bytes are cleared in four steps.
TEST(TapReport, under_a_running_clock_ends_a_window_when_the_next_is_clear) {
    Windows i;
    i.report.tick(3);
    EXPECT_TRUE(i.report.summary().begun);
    i.report.add(1, kA);
    i.report.tick(10);
    TapSummary s = i.report.summary();
    EXPECT_EQ(s.last.number, 0U);
    EXPECT_EQ(as_list(s.last.counts), (List{1, 0, 0}));
    for (const Nanoseconds now : {20U, 31U, 42U}) {
        i.report.add(now, kB);
        i.report.tick(now);
        s = i.report.summary();
        EXPECT_EQ(s.last.number, 0U) << "too early at " << now;
        EXPECT_EQ(s.present.number, 1U);
    }
    i.report.tick(42);
    s = i.report.summary();
    EXPECT_EQ(s.last.number, 3U);
    EXPECT_EQ(as_list(s.last.counts), (List{0, 3, 0}));
    EXPECT_EQ(s.present.number, 4U);
    EXPECT_EQ(as_list(s.before), (List{1, 3, 0}));
}

TEST(TapReport, under_a_running_clock_ends_windows_on_time_if_there_is_time_to_clear) {
    Windows i;
    for (Nanoseconds now = 0; now < 100; ++now) {
        i.report.tick(now);
        i.report.add(now, kA);
        i.report.add(now, now % 2 == 0 ? kA : kB);
        const TapSummary s = i.report.summary();
        ASSERT_EQ(s.present.number, now / 10);
        ASSERT_EQ(s.ended, now >= 10);
        if (s.ended) {
            ASSERT_EQ(s.last.number, now / 10 - 1);
            ASSERT_EQ(as_list(s.last.counts), (List{5, 0, 5}));
        }
    }
}

}  // namespace
}  // namespace unecho::filter::tap_report_test
