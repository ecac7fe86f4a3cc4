// SPDX-License-Identifier: BSD-3-Clause
// Full tx queues: a bounded retry; each packet that is not sent is counted, none leaks, and order
// is kept.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "appliance/eal/ports/mempool.h"
#include "packets.h"
#include "rig.h"

namespace unecho::test {
namespace {

using Transmit = EalTest;

constexpr unsigned kQueue = 16;

Layout small_queue(unsigned size = kQueue) {
    Layout layout;
    layout.burst = 64;
    layout.ports[2].tx_size = size;
    return layout;
}

std::vector<std::uint32_t> sent_marks(const std::vector<Bytes>& frames) {
    std::vector<std::uint32_t> out;
    for (const Bytes& frame : frames) {
        out.push_back(mark_of(frame));
    }
    return out;
}

std::vector<std::uint32_t> count_to(std::uint32_t n) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < n; ++i) {
        out.push_back(i);
    }
    return out;
}

TEST_F(Transmit, to_a_full_queue_sends_what_fits_and_counts_the_rest_as_lost) {
    for (const std::uint64_t retry_cycles : {0ULL, 100'000ULL}) {
        Layout layout = small_queue();
        layout.tx_retry_cycles = retry_cycles;
        Rig rig(layout);
        std::uint64_t lost_bytes = 0;
        for (std::uint32_t i = 0; i < 40; ++i) {
            const Bytes frame = marked(packet(i), i);
            lost_bytes += i < kQueue ? 0 : frame.size();
            rig.offer(0, frame);
        }
        rig.poll();
        EXPECT_EQ(rig.count(Reason::kNew), kQueue);
        EXPECT_EQ(rig.count(Reason::kTxLost), 40 - kQueue);
        EXPECT_EQ(rig.total(Reason::kTxLost).bytes, lost_bytes);
        EXPECT_EQ(rig.worker().counters().tx[2].packets, kQueue);
        EXPECT_GE(rig.worker().counters().tx_retries, 1U);
        EXPECT_EQ(sent_marks(rig.sent(2)), count_to(kQueue));
    }
}

// docs/decisions/0005: the packet was recorded before it was lost.
TEST_F(Transmit, of_a_lost_packet_its_copy_is_an_echo) {
    Rig rig(small_queue(1));
    rig.offer(0, packet(1));
    rig.offer(0, packet(2));
    rig.poll();
    rig.sent(2);
    rig.offer(1, copy_of(2));
    rig.poll();
    EXPECT_EQ(rig.count(Reason::kTxLost), 1U);
    EXPECT_EQ(rig.count(Reason::kEcho), 1U);
    EXPECT_TRUE(rig.sent(2).empty());
}

TEST_F(Transmit, of_chains_to_a_full_queue_frees_every_segment) {
    Rig rig(small_queue(1));
    for (unsigned i = 0; i < 8; ++i) {
        rig.offer(0, make_mbuf(packet(i), {10, 30, 40}));
    }
    rig.poll();
    EXPECT_EQ(rig.count(Reason::kTxLost), 7U);
    rig.sent(2);  // frees them, for the fixture's leak check
}

// One unusual buffer, at any position: DPDK's own function then frees all echoes of the burst.
TEST_F(Transmit, of_echoes_in_buffers_of_any_kind_gives_each_back_to_its_pool) {
    constexpr unsigned kOthers = 1023;
    auto other = eal::make_mempool({"other_packets", kOthers, 128 + kSegmentRoom, -1, true});
    ASSERT_TRUE(other) << other.error().context;
    Layout layout;
    layout.burst = 64;
    const auto drop_beside_plain = [&](rte_mbuf* odd, unsigned at) {
        Rig rig(layout);
        rig.offer(1, packet(1));
        rig.poll();
        for (unsigned i = 0; i < 7; ++i) {
            rig.offer(0, i == at ? odd : make_mbuf(copy_of(1)));
        }
        rig.poll();
        EXPECT_EQ(rig.count(Reason::kEcho), 7U);
        rig.sent(2);
    };
    for (const unsigned at : {0U, 3U, 6U}) {
        drop_beside_plain(make_mbuf(packet(1), {9, 30}), at);

        rte_mbuf* const kept = make_mbuf(packet(1));
        rte_mbuf_refcnt_update(kept, 1);
        drop_beside_plain(kept, at);
        EXPECT_EQ(rte_mbuf_refcnt_read(kept), 1U) << "is the test's again";

        drop_beside_plain(rte_pktmbuf_copy(kept, other->get(), 0, UINT32_MAX), at);
        EXPECT_EQ(rte_mempool_avail_count(other->get()), kOthers);

        drop_beside_plain(rte_pktmbuf_clone(kept, packet_pool()), at);
        EXPECT_EQ(rte_mbuf_refcnt_read(kept), 1U) << "a clone is detached";
        rte_pktmbuf_free(kept);
    }
}

// The reader is slow but alive: every packet is sent, in order.
TEST_F(Transmit, to_a_queue_that_empties_meanwhile_loses_nothing) {
    Layout layout = small_queue(4);
    layout.tx_retry_cycles = std::uint64_t{1} << 40;  // some minutes
    Rig rig(layout);
    constexpr std::uint32_t kCount = 600;
    for (std::uint32_t i = 0; i < kCount; ++i) {
        rig.offer(0, marked(packet(i), i));
    }
    std::vector<Bytes> received;
    std::atomic<bool> done{false};
    std::thread reader([&] {
        const auto take = [&] {
            for (Bytes& frame : drain(rig.port(2).tx(0))) {
                received.push_back(std::move(frame));
            }
        };
        while (!done.load()) {
            take();
            std::this_thread::yield();
        }
        take();
    });
    rig.settle();
    done.store(true);
    reader.join();
    EXPECT_EQ(sent_marks(received), count_to(kCount));
    EXPECT_EQ(rig.count(Reason::kTxLost), 0U);
    EXPECT_EQ(rig.count(Reason::kNew), kCount);
    EXPECT_GT(rig.worker().counters().tx_retries, 0U);
}

}  // namespace
}  // namespace unecho::test
