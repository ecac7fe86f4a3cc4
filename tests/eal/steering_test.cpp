// SPDX-License-Identifier: BSD-3-Clause
// Several workers: copies meet, flows keep their order, and packets between workers are accounted
// for at every moment.
#include <array>
#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "packets.h"
#include "rig.h"

namespace unecho::test {
namespace {

using SteeringMode = EalTest;

// Return n taps and one tool, the last port.
Layout taps(unsigned workers, unsigned ports) {
    Layout layout;
    layout.workers = workers;
    layout.ports.resize(ports + 1);
    layout.routes = {{}};
    for (PortIndex p = 0; p < ports; ++p) {
        layout.routes[0].from.push_back(p);
    }
    layout.routes[0].to = static_cast<PortIndex>(ports);
    return layout;
}

// Return a packet that this worker owns.
Bytes packet_of(const Rig& rig, WorkerIndex owner, unsigned number = 0) {
    for (unsigned flow = 0;; ++flow) {
        if (rig.owner_of(packet(flow)) == owner) {
            return packet(flow, number);
        }
    }
}

std::vector<std::uint32_t> marks_of(const std::vector<Bytes>& frames) {
    std::vector<std::uint32_t> out;
    for (const Bytes& frame : frames) {
        out.push_back(mark_of(frame));
    }
    return out;
}

// Poll workers in random order, so that each is left out for a while.
void poll_at_random(Rig& rig, unsigned workers, std::mt19937_64& random, unsigned polls) {
    for (unsigned i = 0; i < polls; ++i) {
        rig.poll(static_cast<WorkerIndex>(random() % workers));
    }
}

TEST_F(SteeringMode, of_copies_on_ports_of_different_workers_finds_every_one) {
    for (const unsigned workers : {2U, 3U}) {
        Rig rig(taps(workers, workers));
        std::mt19937_64 random(workers);
        constexpr unsigned kPackets = 600;
        for (unsigned i = 0; i < kPackets; ++i) {
            // A copy on each port; the first one arrives at a different port each time.
            for (unsigned copy = 0; copy < workers; ++copy) {
                const auto port = static_cast<PortIndex>((i + copy) % workers);
                rig.offer(port, copy == 0 ? packet(i % 97, i) : copy_of(i % 97, i));
            }
            poll_at_random(rig, workers, random, random() % 3);
        }
        rig.settle();
        EXPECT_EQ(rig.count(Reason::kNew), kPackets);
        EXPECT_EQ(rig.count(Reason::kEcho), kPackets * (workers - 1));
        EXPECT_EQ(rig.sent(static_cast<PortIndex>(workers)).size(), kPackets);
        for (WorkerIndex w = 0; w < workers; ++w) {
            EXPECT_GT(rig.filter_counters(w).insertions, 0U) << "worker " << w << " owns nothing";
        }
    }
}

TEST_F(SteeringMode, carries_every_kind_of_frame_to_its_reason) {
    Rig rig(taps(3, 3));
    for (unsigned i = 0; i < 60; ++i) {
        const auto port = static_cast<PortIndex>(i % 3);
        rig.offer(port, packet(i));
        rig.offer(port, arp(i));
        rig.offer(port, malformed(i));
        rig.offer(port, make_mbuf(copy_of(i), {20}));
    }
    rig.offer(1, Bytes(dataplane::kScratchBytes + 1, 0x45));
    rig.settle();
    EXPECT_EQ(rig.count(Reason::kNew), 60U);
    EXPECT_EQ(rig.count(Reason::kNonIp), 60U);
    EXPECT_EQ(rig.count(Reason::kMalformed), 60U);
    EXPECT_EQ(rig.count(Reason::kEcho), 60U);
    EXPECT_EQ(rig.count(Reason::kTooLong), 1U);
    rig.sent(3);
}

// Frames without IP between packets, over all taps, whole and segmented, from so many stations that
// each worker owns some.
TEST_F(SteeringMode, of_frames_without_ip_brings_copies_in_every_dress_together) {
    for (const auto key : {packet::KeyMode::kPacket, packet::KeyMode::kFlow}) {
        Layout layout = taps(3, 3);
        layout.filters[0].key = key;
        layout.filters[0].non_ip = packet::NonIp::kFrame;
        Rig rig(layout);
        std::array<unsigned, 3> owned{};
        for (unsigned i = 0; i < 90; ++i) {
            PacketSpec link;
            link.source_mac[5] = static_cast<std::uint8_t>(i);
            const auto port = static_cast<PortIndex>(i % 3);
            const auto other = static_cast<PortIndex>((i / 3) % 3);
            const Bytes plain = build_ethernet(0x88CC, counting(60), link);
            link.tags = {{0x8100, 7}};
            const Bytes tagged = build_ethernet(0x88CC, counting(60), link);
            ++owned[rig.owner_of(plain)];
            EXPECT_EQ(rig.owner_of(tagged), rig.owner_of(plain));
            rig.offer(port, plain);
            rig.offer(other, make_mbuf(tagged, {i % 40}));
            rig.offer(port, packet(i));
            rig.offer(other, tagged);
        }
        rig.settle();
        EXPECT_EQ(rig.count(Reason::kNew), 180U);
        EXPECT_EQ(rig.count(Reason::kEcho), 180U);
        EXPECT_EQ(rig.count(Reason::kNonIp), 0U);
        for (const unsigned n : owned) {
            EXPECT_GT(n, 5U);
        }
        rig.sent(3);
    }
}

TEST_F(SteeringMode, with_a_tx_queue_for_each_worker_sends_without_handing_over) {
    Layout layout = taps(2, 2);
    layout.ports[2].tx_queues = 2;
    Rig rig(layout);
    rig.offer(0, packet_of(rig, 0));
    rig.offer(1, packet_of(rig, 1));
    rig.settle();
    EXPECT_EQ(rig.worker(0).counters().handed_out, 0U);
    EXPECT_EQ(rig.worker(1).counters().handed_out, 0U);
    EXPECT_EQ(rte_ring_count(rig.port(2).tx(0)), 1U);
    EXPECT_EQ(rte_ring_count(rig.port(2).tx(1)), 1U);
    rig.sent(2);
}

// With RSS the device brings copies together, and workers compute no owner.
TEST_F(SteeringMode, where_the_device_spreads_flows_leaves_packets_where_they_are) {
    Layout layout;
    layout.workers = 2;
    layout.steer = false;
    layout.ports[0].rx_queues = layout.ports[1].rx_queues = 2;
    Rig rig(layout);
    for (unsigned flow = 0; flow < 100; ++flow) {
        const auto hash = static_cast<QueueId>(flow % 2);
        // Worker (1 + q) mod 2 polls queue q of the second port.
        rig.offer(0, packet(flow), hash);
        rig.offer(1, copy_of(flow), static_cast<QueueId>(1 - hash));
    }
    rig.settle();
    EXPECT_EQ(rig.count(Reason::kNew), 100U);
    EXPECT_EQ(rig.count(Reason::kEcho), 100U);
    EXPECT_EQ(rig.worker(0).counters().handed_out, 0U);
    rig.sent(2);
}

// --- overload ----------------------------------------------------------------------------------

// The last quarter of a ring of 8 is above the mark. Packets that do not fit wait, uncounted, in
// the receiver's backlog. Those behind them wait in the rx queue.
TEST_F(SteeringMode, to_a_ring_above_its_mark_is_unfiltered_and_to_a_full_one_waits) {
    for (const unsigned burst : {9U, 10U}) {
        SCOPED_TRACE(burst);
        Layout layout = taps(2, 2);
        layout.burst = burst;
        layout.ring_size = 8;
        layout.ports[2].tx_queues = 2;
        Rig rig(layout);
        const Bytes one = packet_of(rig, 1);
        for (std::uint32_t i = 0; i < 15; ++i) {
            rig.offer(0, marked(one, i));
        }
        for (unsigned poll = 0; poll < 3; ++poll) {
            rig.poll(0);
            EXPECT_EQ(rig.worker(0).counters().handed_out, 8U);
            EXPECT_EQ(rig.received(), 8U);
            EXPECT_EQ(rte_ring_count(rig.port(0).rx(0)), 15 - burst) << "left in the rx queue";
        }
        EXPECT_EQ(rig.count(Reason::kOverload), 0U) << "not sent yet";
        rig.poll(1);
        EXPECT_EQ(rig.count(Reason::kOverload), 2U);
        EXPECT_EQ(rig.total(Reason::kOverload).bytes, 2 * (one.size() + 4));
        rig.settle();
        EXPECT_EQ(rig.received(), 15U);
        EXPECT_EQ(rig.count(Reason::kNew), 1U);
        EXPECT_EQ(rig.count(Reason::kEcho), 12U);
        EXPECT_EQ(marks_of(rig.sent(2)), (std::vector<std::uint32_t>{0, 6, 7}));
    }
}

// Runs an action whenever a port's queue is about to send, on the sending thread.
class WhenSending {
  public:
    WhenSending(PortId port, QueueId queue, std::function<void()> action)
        : port_(port),
          queue_(queue),
          action_(std::move(action)),
          callback_(rte_eth_add_tx_callback(port, queue, &WhenSending::call, this)) {
        EXPECT_NE(callback_, nullptr);
    }
    ~WhenSending() {
        EXPECT_EQ(rte_eth_remove_tx_callback(port_, queue_, callback_), 0);
        rte_free(const_cast<rte_eth_rxtx_callback*>(callback_));
    }
    WhenSending(const WhenSending&) = delete;
    WhenSending& operator=(const WhenSending&) = delete;

  private:
    static std::uint16_t call(PortId /*port*/, QueueId /*queue*/, rte_mbuf** /*mbufs*/,
                              std::uint16_t n, void* self) {
        static_cast<WhenSending*>(self)->action_();
        return n;
    }

    PortId port_;
    QueueId queue_;
    std::function<void()> action_;
    const rte_eth_rxtx_callback* callback_;
};

// Chains of more than half the scratch space split a burst into two parts. A full ring refuses
// packets of the first part, and has room again before the second part. Packets of the same flow in
// the second part must wait behind the refused ones.
TEST_F(SteeringMode, of_a_burst_in_parts_holds_the_next_part_back_behind_what_was_refused) {
    Layout layout = taps(2, 2);
    layout.burst = 16;
    layout.ring_size = 4;
    layout.ports[2].tx_queues = 2;
    Rig rig(layout);
    const auto long_one = [](Bytes bytes, std::uint32_t mark) {
        bytes.resize(dataplane::kScratchBytes / 2 + 1);
        return marked(std::move(bytes), mark);
    };
    constexpr std::uint32_t kOwn = 1000;
    for (std::uint32_t i = 0; i < 6; ++i) {
        rig.offer(0, marked(packet_of(rig, 1, i), i));
    }
    rig.offer(0, long_one(packet_of(rig, 0), kOwn));
    rig.offer(0, long_one(packet_of(rig, 1, 6), 6));
    rig.offer(0, marked(packet_of(rig, 1, 7), 7));
    rig.offer(0, marked(packet_of(rig, 0, 1), kOwn + 1));
    {
        // The first part ends with a packet that worker 0 sends itself.
        unsigned taken = 0;
        const WhenSending sending(rig.port(2).id(), 0, [&] { taken += rig.worker(1).poll_once(); });
        rig.poll(0);
        EXPECT_EQ(taken, 4U) << "the ring is empty before the second part";
    }
    EXPECT_EQ(rte_ring_count(rig.steer_ring(0, 1)), 0U) << "nothing overtakes what waits";
    EXPECT_EQ(rig.received(), 5U) << "four handed over, one sent; the rest is not counted yet";
    rig.settle();
    EXPECT_EQ(rig.received(), 10U);
    EXPECT_EQ(rig.count(Reason::kNew) + rig.count(Reason::kOverload), 10U);
    EXPECT_EQ(marks_of(drain(rig.port(2).tx(1))),
              (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(marks_of(drain(rig.port(2).tx(0))),
              (std::vector<std::uint32_t>{kOwn, kOwn + 1}));
}

TEST_F(SteeringMode, of_two_workers_that_flood_each_other_at_once_ends) {
    Layout layout = taps(2, 2);
    layout.burst = 4;
    layout.ring_size = 8;
    layout.ports[2].tx_queues = 2;
    Rig rig(layout);
    constexpr std::uint32_t kPackets = 2000;
    for (std::uint32_t i = 0; i < kPackets; ++i) {
        rig.offer(0, marked(packet_of(rig, 1, i), i));
        rig.offer(1, marked(packet_of(rig, 0, i), i));
    }
    std::atomic<unsigned> left{2 * kPackets};
    const auto work = [&](WorkerIndex self) {
        while (left.load(std::memory_order_relaxed) != 0) {
            left.fetch_sub(
                static_cast<unsigned>(drain(rig.port(2).tx(static_cast<QueueId>(self))).size()),
                std::memory_order_relaxed);
            if (rig.worker(self).poll_once() == 0) {
                std::this_thread::yield();
            }
        }
    };
    std::thread other(work, WorkerIndex{1});
    work(0);
    other.join();
    EXPECT_EQ(rig.received(), 2 * kPackets);
    EXPECT_EQ(rig.count(Reason::kTxLost), 0U);
    rig.settle();
}

TEST_F(SteeringMode, with_the_ring_to_the_tx_owner_full_counts_tx_lost) {
    Layout layout = taps(2, 2);
    layout.ring_size = 4;
    Rig rig(layout);
    std::vector<Bytes> own;
    for (unsigned flow = 0; own.size() < 10; ++flow) {
        if (rig.owner_of(packet(flow)) == 1) {
            own.push_back(packet(flow));
        }
    }
    for (const Bytes& frame : own) {
        rig.offer(1, frame);
    }
    rig.poll(1);
    EXPECT_EQ(rig.count(Reason::kTxLost), 6U);
    EXPECT_EQ(rig.worker(1).counters().handed_out, 4U);
    EXPECT_GE(rig.worker(1).counters().tx_retries, 1U);
    rig.settle();
    EXPECT_EQ(rig.count(Reason::kNew), 4U);
    EXPECT_EQ(rig.sent(2), std::vector<Bytes>(own.begin(), own.begin() + 4));
}

// The owner of the tx queue counts packets that it cannot send, under the route by which they came.
TEST_F(SteeringMode, of_packets_that_the_tx_owner_cannot_send_counts_their_route) {
    Layout layout;
    layout.workers = 2;
    layout.ports.resize(4);
    layout.ports[3].tx_size = 2;
    layout.routes = {{{0, 1}, 2}, {{}, 3}};
    layout.routes[0].on_echo = EchoAction::kDivert;
    layout.routes[0].divert_to = 3;
    Rig rig(layout);
    const Bytes one = packet_of(rig, 1);
    for (unsigned i = 0; i < 9; ++i) {
        rig.offer(1, one);
    }
    rig.settle();
    EXPECT_EQ(rig.count(Reason::kNew, 0), 1U);
    EXPECT_EQ(rig.count(Reason::kEchoDiverted, 0), 2U);
    EXPECT_EQ(rig.count(Reason::kTxLost, 0), 6U);
    rig.sent(2);
    rig.sent(3);
}

// --- stopping ----------------------------------------------------------------------------------

// Packets in the receiver's backlog were taken from the device, so they are delivered as well.
TEST_F(SteeringMode, when_draining_delivers_what_waits_for_a_full_ring) {
    Layout layout = taps(2, 2);
    layout.burst = 8;
    layout.ring_size = 4;
    layout.ports[2].tx_queues = 2;
    Rig rig(layout);
    for (std::uint32_t i = 0; i < 10; ++i) {
        rig.offer(0, marked(packet_of(rig, 1, i), i));
    }
    rig.poll(0);
    rig.set_phase(dataplane::Phase::kDraining);
    rig.settle();
    EXPECT_EQ(marks_of(rig.sent(2)), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(rig.received(), 8U);
    EXPECT_EQ(drain(rig.port(0).rx(0)).size(), 2U);
}

TEST_F(SteeringMode, settles_what_waits_for_a_full_ring_as_stopped) {
    Layout layout = taps(2, 2);
    layout.burst = 8;
    layout.ring_size = 4;
    Rig rig(layout);
    const Bytes one = packet_of(rig, 1);
    for (std::uint32_t i = 0; i < 6; ++i) {
        rig.offer(0, one);
    }
    rig.poll(0);
    EXPECT_EQ(rig.received(), 4U);
    rig.worker(0).settle_leftovers();
    rig.worker(1).settle_leftovers();
    EXPECT_EQ(rig.received(), 6U);
    EXPECT_EQ(rig.count(Reason::kStopped), 6U);
    EXPECT_EQ(rig.total(Reason::kStopped).bytes, 6 * one.size());
    rig.poll(0);  // checks that the counters balance
}

TEST_F(SteeringMode, settles_leftovers_of_both_kinds_of_rings_as_stopped) {
    Rig rig(taps(2, 2));
    const Bytes decided = packet_of(rig, 1);
    const Bytes steered = packet_of(rig, 0);
    rig.offer(0, decided);
    rig.poll(0);
    rig.poll(1);  // now on its way to the owner of the tx queue
    rig.offer(1, make_mbuf(steered, {30}));
    rig.poll(1);
    ASSERT_EQ(rte_ring_count(rig.tx_ring(1, 0)), 1U);
    ASSERT_EQ(rte_ring_count(rig.steer_ring(1, 0)), 1U);
    rig.worker(0).settle_leftovers();
    rig.worker(1).settle_leftovers();
    EXPECT_EQ(rig.count(Reason::kStopped), 2U);
    EXPECT_EQ(rig.total(Reason::kStopped).bytes, decided.size() + steered.size());
    EXPECT_EQ(rig.worker(0).counters().handed_in, 2U);
    EXPECT_EQ(rig.worker(1).counters().handed_in, 1U);
    EXPECT_TRUE(rig.sent(2).empty());
    rig.poll(0);  // checks that the counters balance
}

}  // namespace
}  // namespace unecho::test
