// SPDX-License-Identifier: BSD-3-Clause
// A worker was away for longer than the window: waiting packets are decided by arrival time.
#include <array>

#include <gtest/gtest.h>

#include "packets.h"
#include "rig.h"

namespace unecho::test {
namespace {

constexpr Nanoseconds kWindow = 50 * kMillisecond;
constexpr Nanoseconds kAway = 200 * kMillisecond;
constexpr unsigned kK = 3;
constexpr unsigned kL = 5;
constexpr Nanoseconds kLength = kWindow / kL;

// One worker. The test controls its clock and rotation timer.
class Away : public EalTest {
  protected:
    Layout layout(const engines::Geometry& geometry) {
        Layout out;
        out.clock = {0, std::uint64_t{1} << 32, &now_};
        out.filters[0].window = kWindow;
        out.filters[0].geometry = geometry;
        return out;
    }

    // Let time pass while the worker polls every millisecond.
    void pass(Rig& rig, Nanoseconds time) {
        for (Nanoseconds step = 0; step < time; step += kMillisecond) {
            be_away(rig, kMillisecond);
            rig.poll();
        }
    }
    // Let time pass while the worker does not poll.
    void be_away(Rig& rig, Nanoseconds time) {
        now_ += time;
        rig.filter_shared().turns = now_ / kLength;
    }
    std::uint64_t echoes_of(Rig& rig, std::initializer_list<Bytes> frames) {
        const std::uint64_t before = rig.count(Reason::kEcho);
        for (const Bytes& frame : frames) {
            rig.offer(0, frame);
        }
        rig.settle();
        rig.sent(2);
        return rig.count(Reason::kEcho) - before;
    }
    static const dataplane::Counters& counters(Rig& rig) {
        rig.shared().snapshot_wanted++;
        rig.poll();
        return rig.shared().snapshot;
    }

    void check(const engines::Geometry& geometry, Nanoseconds slack) {
        Rig rig(layout(geometry));
        pass(rig, 100 * kMillisecond);
        EXPECT_EQ(echoes_of(rig, {packet(1)}), 0U);
        pass(rig, 5 * kMillisecond);
        EXPECT_EQ(counters(rig).gaps, 0U);
        be_away(rig, kAway);
        // A copy that may be only 5 ms old, and a packet that waited together with its copy.
        EXPECT_EQ(echoes_of(rig, {copy_of(1), packet(2), copy_of(2)}), 2U);
        EXPECT_EQ(counters(rig).gaps, 1U);
        EXPECT_EQ(counters(rig).longest_gap, kAway);
        EXPECT_EQ(counters(rig).late_echoes, 2U);
        pass(rig, kWindow - kMillisecond);
        EXPECT_EQ(echoes_of(rig, {copy_of(2)}), 1U);
        EXPECT_EQ(counters(rig).late_echoes, 3U) << "had it waited long";
        pass(rig, slack + 2 * kMillisecond);
        EXPECT_EQ(echoes_of(rig, {packet(3), copy_of(3)}), 1U);
        EXPECT_EQ(counters(rig).late_echoes, 3U) << "all of before is forgotten";
        EXPECT_EQ(echoes_of(rig, {packet(2)}), 0U);
    }

    std::uint64_t now_ = 0;
};

TEST_F(Away, from_a_filter_that_keeps_times_misses_nothing) {
    check(sizing::ExactGeometry{8192}, 0);
}

// The plan states how far a filter of generations reaches. The rig states no slack, so late echoes
// are counted for one window only.
TEST_F(Away, from_a_filter_of_generations_misses_nothing) {
    check(sizing::ApbbfGeometry{kK, kL, 512, 8, 64}, kK * kLength);
}

TEST_F(Away, with_nothing_waiting_leaves_time_alone) {
    Rig rig(layout(sizing::ExactGeometry{8192}));
    pass(rig, 100 * kMillisecond);
    EXPECT_EQ(echoes_of(rig, {packet(1)}), 0U);
    be_away(rig, kAway);
    rig.poll();
    rig.poll();
    EXPECT_EQ(echoes_of(rig, {packet(1)}), 0U) << "older than the window by any clock";
    EXPECT_EQ(counters(rig).gaps, 1U);
    EXPECT_EQ(counters(rig).late_echoes, 0U);
}

// A full ring makes packets wait in the backlog. Those behind them in the rx queue waited as long.
TEST_F(Away, with_packets_held_back_judges_what_waits_behind_them_by_the_time_it_left) {
    Layout two = layout(sizing::ExactGeometry{8192});
    two.workers = 2;
    two.burst = two.ring_size = 4;
    two.ports[2].tx_queues = 2;
    Rig rig(two);
    std::array<unsigned, 2> flow_of{};
    for (const WorkerIndex owner : {0, 1}) {
        while (rig.owner_of(packet(flow_of[owner])) != owner) {
            ++flow_of[owner];
        }
    }
    pass(rig, 100 * kMillisecond);
    rig.offer(0, packet(flow_of[0]));
    rig.poll();
    for (unsigned i = 0; i < 8; ++i) {
        rig.offer(0, packet(flow_of[1], i));
    }
    rig.poll();
    rig.poll();
    EXPECT_EQ(rig.received(), 5U) << "four are held back";
    rig.offer(0, copy_of(flow_of[0]));
    be_away(rig, kAway);
    rig.poll();
    rig.poll();
    rig.poll(1);
    rig.poll();
    rig.poll();
    EXPECT_EQ(rig.received(), 10U);
    EXPECT_EQ(rig.count(Reason::kEcho), 1U);
    rig.settle();
    rig.sent(2);
}

}  // namespace
}  // namespace unecho::test
