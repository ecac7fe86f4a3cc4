// SPDX-License-Identifier: BSD-3-Clause
// The stages alone, where the worker's tests do not reach: what the burst says in between.
#include "dataplane/stages.h"

#include <array>

#include <gtest/gtest.h>

#include "mbufs.h"
#include "packets.h"

namespace unecho::test {
namespace {

using dataplane::Burst;
using Stages = EalTest;

struct OwnedBurst {
    explicit OwnedBurst(const std::vector<rte_mbuf*>& mbufs) {
        for (rte_mbuf* mbuf : mbufs) {
            burst.mbufs[burst.count++] = mbuf;
        }
    }
    ~OwnedBurst() { rte_pktmbuf_free_bulk(burst.mbufs.data(), burst.count); }
    OwnedBurst(const OwnedBurst&) = delete;
    OwnedBurst& operator=(const OwnedBurst&) = delete;

    Burst burst;
};

TEST_F(Stages, view_of_whole_packets_points_into_them) {
    OwnedBurst owned({make_mbuf(packet(1)), make_mbuf(arp())});
    Burst& burst = owned.burst;
    dataplane::view(burst);
    EXPECT_EQ(burst.chained, 0U);
    EXPECT_EQ(burst.bytes, packet(1).size() + arp().size());
    for (unsigned i = 0; i < 2; ++i) {
        EXPECT_EQ(burst.frames[i].data, rte_pktmbuf_mtod(burst.mbufs[i], const std::uint8_t*));
        EXPECT_EQ(burst.frames[i].length, burst.lengths[i]);
    }
    EXPECT_EQ(burst.lengths[1], arp().size());
}

TEST_F(Stages, view_of_chains_tells_their_whole_length_and_shows_nothing) {
    OwnedBurst owned({make_mbuf(packet(1)), make_mbuf(packet(2), {10, 20})});
    Burst& burst = owned.burst;
    dataplane::view(burst);
    EXPECT_EQ(burst.chained, 0b10U);
    EXPECT_EQ(burst.lengths[1], packet(2).size());
    EXPECT_EQ(burst.frames[1].length, 0U);
    EXPECT_EQ(burst.bytes, packet(1).size() + packet(2).size());
}

// A second view, after packets were steered away, starts anew.
TEST_F(Stages, view_of_fewer_packets_forgets_the_others) {
    OwnedBurst owned({make_mbuf(packet(1), {5}), make_mbuf(packet(2))});
    Burst& burst = owned.burst;
    dataplane::view(burst);
    std::swap(burst.mbufs[0], burst.mbufs[1]);
    burst.count = 1;
    dataplane::view(burst);
    EXPECT_EQ(burst.chained, 0U);
    EXPECT_EQ(burst.bytes, packet(2).size());
    burst.count = 2;
}

TEST_F(Stages, contiguous_of_a_whole_packet_is_its_own_memory) {
    rte_mbuf* mbuf = make_mbuf(packet(1));
    std::array<std::uint8_t, 4> scratch{};
    const packet::Frame frame = dataplane::contiguous(*mbuf, scratch);
    EXPECT_EQ(frame.data, rte_pktmbuf_mtod(mbuf, const std::uint8_t*));
    EXPECT_EQ(frame.length, packet(1).size());
    rte_pktmbuf_free(mbuf);
}

TEST_F(Stages, contiguous_of_a_chain_is_a_copy_of_exactly_its_bytes) {
    const Bytes bytes = packet(1);
    rte_mbuf* mbuf = make_mbuf(bytes, {0, 1, 14, 14, 33});
    std::vector<std::uint8_t> scratch(bytes.size() + 1, 0xEE);
    const packet::Frame frame = dataplane::contiguous(*mbuf, scratch);
    EXPECT_EQ(Bytes(frame.data, frame.data + frame.length), bytes);
    EXPECT_EQ(scratch.back(), 0xEE);
    // It may fill the space, not more.
    const packet::Frame full = dataplane::contiguous(*mbuf, {scratch.data(), bytes.size()});
    EXPECT_EQ(full.length, bytes.size());
    const packet::Frame none = dataplane::contiguous(*mbuf, {scratch.data(), bytes.size() - 1});
    EXPECT_EQ(none.length, 0U);
    rte_pktmbuf_free(mbuf);
}

TEST_F(Stages, digest_sets_every_packet_in_exactly_one_mask) {
    std::vector<std::uint8_t> scratch(1000);
    OwnedBurst owned({make_mbuf(packet(1)), make_mbuf(packet(1), {20}), make_mbuf(arp(), {3}),
                      make_mbuf(malformed()), make_mbuf(Bytes(1001, 1), {500}),
                      make_mbuf(packet(2))});
    Burst& burst = owned.burst;
    dataplane::view(burst);
    dataplane::digest(burst, packet::KeyMode::kPacket, hash::secret_from_seed(1), scratch);
    EXPECT_EQ(burst.keys.keyed, 0b100011U);
    EXPECT_EQ(burst.keys.non_ip, 0b000100U);
    EXPECT_EQ(burst.keys.malformed, 0b001000U);
    EXPECT_EQ(burst.too_long, 0b010000U);
    EXPECT_EQ(burst.digests[0], burst.digests[1]);
    EXPECT_NE(burst.digests[0], burst.digests[5]);
}

TEST_F(Stages, digest_gives_frames_without_ip_their_own_where_it_is_asked_to) {
    std::vector<std::uint8_t> scratch(1000);
    OwnedBurst owned({make_mbuf(short_arp()), make_mbuf(packet(1)), make_mbuf(arp_copy(), {3}),
                      make_mbuf(malformed()), make_mbuf(Bytes(1001, 1), {500})});
    Burst& burst = owned.burst;
    dataplane::view(burst);
    dataplane::digest(burst, packet::KeyMode::kPacket, hash::secret_from_seed(1), scratch,
                      packet::NonIp::kFrame);
    EXPECT_EQ(burst.keys.keyed, 0b00111U);
    EXPECT_EQ(burst.keys.non_ip, 0U);
    EXPECT_EQ(burst.keys.malformed, 0b01000U);
    EXPECT_EQ(burst.too_long, 0b10000U);
    EXPECT_EQ(burst.digests[0], burst.digests[2]);
    EXPECT_NE(burst.digests[0], burst.digests[1]);
}

}  // namespace
}  // namespace unecho::test
