// SPDX-License-Identifier: BSD-3-Clause
// Workers that are held up at a known place. The test controls the clock.
#include <cerrno>
#include <functional>
#include <optional>
#include <utility>

#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include "packets.h"
#include "rig.h"

namespace unecho::test {
namespace {

using dataplane::Stage;
using dataplane::Stall;

constexpr Nanoseconds kHeld = 3 * kMillisecond;

// One worker with two taps (ports 0 and 1) and a tool (port 2).
class Stalls : public EalTest {
  protected:
    static Layout layout(std::uint64_t& now) {
        Layout out;
        out.clock = {0, std::uint64_t{1} << 32, &now};
        return out;
    }
    // Let a microsecond pass, then poll.
    void poll(Rig& rig) {
        now_ += kMicrosecond;
        rig.poll();
    }
    static std::optional<Stall> stall(Rig& rig) {
        Stall out;
        return rig.shared().stalls.pop(out) ? std::optional(out) : std::nullopt;
    }

    // An action that a port performs once, at its next call.
    struct Hook {
        std::function<void()> action;
        static std::uint16_t received(std::uint16_t, std::uint16_t, rte_mbuf**, std::uint16_t n,
                                      std::uint16_t, void* context) {
            return static_cast<Hook*>(context)->call(n);
        }
        static std::uint16_t sending(std::uint16_t, std::uint16_t, rte_mbuf**, std::uint16_t n,
                                     void* context) {
            return static_cast<Hook*>(context)->call(n);
        }
        std::uint16_t call(std::uint16_t n) {
            if (const auto once = std::exchange(action, nullptr)) {
                once();
            }
            return n;
        }
    };

    std::uint64_t now_ = kSecond;
    Hook hook_;
};

TEST_F(Stalls, that_pass_in_a_port_are_told_with_place_time_and_packets) {
    Rig rig(layout(now_));
    const PortId tap = rig.port(1).id();
    const PortId tool = rig.port(2).id();
    const auto* on_receive = rte_eth_add_rx_callback(tap, 0, Hook::received, &hook_);
    const auto* on_send = rte_eth_add_tx_callback(tool, 0, Hook::sending, &hook_);
    for (const Stage stage : {Stage::kReceive, Stage::kTransmit}) {
        poll(rig);
        poll(rig);
        ASSERT_FALSE(stall(rig)) << "nothing has happened yet";
        const std::uint64_t before = rig.worker().counters().stalls;
        // The first tap's packets are sent before the second tap is polled.
        for (unsigned i = 0; i < 5; ++i) {
            rig.offer(stage == Stage::kTransmit ? 0 : 1, packet(i, static_cast<unsigned>(stage)));
        }
        hook_.action = [&] { now_ += kHeld; };
        const Nanoseconds begin = now_ + kMicrosecond;
        poll(rig);
        EXPECT_EQ(rig.worker().counters().stalls, before) << "it is not over";
        poll(rig);
        EXPECT_EQ(rig.worker().counters().stalls, before + 1);
        const std::optional<Stall> found = stall(rig);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->stage, stage);
        EXPECT_EQ(found->begin, begin);
        EXPECT_EQ(found->took, kHeld + kMicrosecond);
        EXPECT_EQ(found->packets, 5U);
        EXPECT_EQ(found->queued_before, Stall::kUnknown) << "rings do not tell";
        EXPECT_EQ(found->queued_after, Stall::kUnknown);
        hook_.action = nullptr;
    }
    rte_eth_remove_rx_callback(tap, 0, on_receive);
    rte_eth_remove_tx_callback(tool, 0, on_send);
    rig.settle();
    rig.sent(2);
}

TEST_F(Stalls, come_with_the_depth_of_all_queues_where_the_drivers_tell_it) {
    Layout telling = layout(now_);
    telling.burst = 8;
    telling.ports[0].depth = telling.ports[1].depth = RingPort::count_waiting;
    Rig rig(telling);
    poll(rig);
    poll(rig);
    for (unsigned i = 0; i < 5; ++i) {
        rig.offer(0, packet(i));
    }
    const PortId tap = rig.port(1).id();
    const auto* on_receive = rte_eth_add_rx_callback(tap, 0, Hook::received, &hook_);
    hook_.action = [&] {
        now_ += kHeld;
        for (unsigned i = 0; i < 20; ++i) {  // packets arrive meanwhile
            rig.offer(i % 2, packet(100 + i));
        }
    };
    poll(rig);
    poll(rig);
    const std::optional<Stall> found = stall(rig);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->packets, 5U);
    EXPECT_EQ(found->queued_before, 5U);
    EXPECT_EQ(found->queued_after, 20U);
    rte_eth_remove_rx_callback(tap, 0, on_receive);
    rig.settle();
    rig.sent(2);
}

unsigned asked = 0;
std::uint32_t cannot_tell(void*) {
    ++asked;
    return static_cast<std::uint32_t>(-ENOTSUP);
}

TEST_F(Stalls, of_a_driver_that_does_not_tell_the_depth_ask_it_once) {
    asked = 0;
    Layout silent = layout(now_);
    silent.ports[0].depth = RingPort::count_waiting;
    silent.ports[1].depth = cannot_tell;
    Rig rig(silent);
    EXPECT_EQ(asked, 1U);
    for (unsigned i = 0; i < 5; ++i) {
        now_ += kHeld;
        poll(rig);
        const std::optional<Stall> found = stall(rig);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->queued_before, Stall::kUnknown);
        EXPECT_EQ(found->queued_after, Stall::kUnknown) << "part of it is no answer";
    }
    EXPECT_EQ(asked, 1U);
}

// The worker is held up while it publishes its counters, or away outside any poll.
TEST_F(Stalls, between_two_polls_are_told_as_such) {
    Layout two = layout(now_);
    two.workers = 2;
    two.ports[2].tx_queues = 2;
    Rig rig(two);
    rig.offer(0, packet(1));
    for (unsigned i = 0; i < 3; ++i) {
        now_ += kMicrosecond;
        rig.poll(0);
        rig.poll(1);
    }
    EXPECT_FALSE(stall(rig));
    now_ += kHeld;  // between two polls
    rig.poll(0);
    const std::optional<Stall> found = stall(rig);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->stage, Stage::kReport);
    EXPECT_EQ(found->took, kHeld);
    rig.settle();
    rig.sent(2);
}

// With captures, waiting packets are in the file and none arrives too late.
TEST_F(Stalls, of_captures_are_none) {
    Layout capture = layout(now_);
    capture.capture = true;
    Rig rig(capture);
    for (unsigned i = 0; i < 5; ++i) {
        rig.offer_at(0, packet(i), 1000 + i);
        now_ += kHeld;
        rig.poll();
    }
    EXPECT_FALSE(stall(rig));
    EXPECT_EQ(rig.worker().counters().stalls, 0U);
    EXPECT_EQ(rig.worker().counters().busy + rig.worker().counters().idle, 0U);
    rig.settle();
    rig.sent(2);
}

TEST_F(Stalls, are_in_snapshots_with_all_times_that_polls_took) {
    Rig rig(layout(now_));
    for (unsigned i = 0; i < 10; ++i) {
        poll(rig);
    }
    now_ += kHeld;
    rig.offer(0, packet(1));
    poll(rig);
    poll(rig);
    rig.shared().snapshot_wanted++;
    poll(rig);
    const dataplane::Counters& counters = rig.shared().snapshot;
    EXPECT_EQ(counters.stalls, 1U);
    std::uint64_t polls = 0;
    for (const std::uint64_t n : counters.poll_times.polls) {
        polls += n;
    }
    EXPECT_EQ(polls, counters.polls) << "each that is over, and what was before the first";
    EXPECT_EQ(counters.busy, kMicrosecond);
    EXPECT_EQ(counters.busy + counters.idle, now_ - kSecond);
    rig.sent(2);
}

}  // namespace
}  // namespace unecho::test
