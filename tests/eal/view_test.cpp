// SPDX-License-Identifier: BSD-3-Clause
// The bytes of packets in buffers, and the part of a burst that remains.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "appliance/dataplane/burst.h"
#include "dedup/pipeline/bits.h"
#include "dedup/pipeline/stages.h"
#include "mbufs.h"
#include "packets.h"

namespace unecho::test {
namespace {

using dataplane::Burst;
using View = EalTest;

struct OwnedBurst {
    explicit OwnedBurst(const std::vector<rte_mbuf*>& mbufs) : owned(mbufs) {
        for (rte_mbuf* mbuf : mbufs) {
            burst.mbufs[burst.count] = mbuf;
            burst.times[burst.count] = 1000 + burst.count;
            burst.count++;
        }
    }
    ~OwnedBurst() { rte_pktmbuf_free_bulk(owned.data(), static_cast<unsigned>(owned.size())); }
    OwnedBurst(const OwnedBurst&) = delete;
    OwnedBurst& operator=(const OwnedBurst&) = delete;

    std::vector<rte_mbuf*> owned;
    Burst burst;
};

Bytes viewed_bytes(const packet::Frame& frame) {
    return {frame.data, frame.data + frame.length};
}

TEST_F(View, of_whole_packets_points_into_them) {
    OwnedBurst owned({make_mbuf(packet(1)), make_mbuf(arp())});
    Burst& burst = owned.burst;
    EXPECT_EQ(view(burst, {}), 0U);
    EXPECT_EQ(burst.count, 2U);
    EXPECT_EQ(burst.too_long, 0U);
    EXPECT_EQ(burst.bytes, packet(1).size() + arp().size());
    for (unsigned i = 0; i < 2; ++i) {
        EXPECT_EQ(burst.frames[i].data, rte_pktmbuf_mtod(burst.mbufs[i], const std::uint8_t*));
        EXPECT_EQ(burst.frames[i].length, burst.lengths[i]);
    }
    EXPECT_EQ(burst.lengths[1], arp().size());
}

TEST_F(View, of_chains_is_a_copy_of_exactly_their_bytes) {
    OwnedBurst owned({make_mbuf(packet(1), {0, 1, 14, 14, 33}), make_mbuf(packet(2)),
                      make_mbuf(packet(3), {10, 20})});
    Burst& burst = owned.burst;
    const std::size_t needed = packet(1).size() + packet(3).size();
    std::vector<std::uint8_t> scratch(needed + 1, 0xEE);
    EXPECT_EQ(view(burst, {scratch.data(), needed}), 0U);
    EXPECT_EQ(viewed_bytes(burst.frames[0]), packet(1));
    EXPECT_EQ(viewed_bytes(burst.frames[1]), packet(2));
    EXPECT_EQ(viewed_bytes(burst.frames[2]), packet(3));
    EXPECT_EQ(burst.frames[0].data, scratch.data());
    EXPECT_EQ(burst.bytes, packet(1).size() + packet(2).size() + packet(3).size());
    EXPECT_EQ(scratch.back(), 0xEE);
}

// The space is a byte too small for two chains, so the second begins the next part.
TEST_F(View, ends_where_the_space_for_chains_is_full) {
    OwnedBurst owned({make_mbuf(packet(1), {20}), make_mbuf(packet(2)), make_mbuf(packet(3), {7}),
                      make_mbuf(packet(4)), make_mbuf(packet(5), {30})});
    std::vector<std::uint8_t> scratch(packet(1).size() + packet(3).size() - 1);
    std::vector<std::vector<Bytes>> parts;
    std::vector<Nanoseconds> times;
    view_in_parts(owned.burst, scratch, [&](const Burst& part) {
        parts.emplace_back();
        std::uint64_t bytes = 0;
        for (unsigned i = 0; i < part.count; ++i) {
            parts.back().push_back(viewed_bytes(part.frames[i]));
            times.push_back(part.times[i]);
            bytes += part.lengths[i];
        }
        EXPECT_EQ(part.bytes, bytes);
    });
    EXPECT_EQ(parts, (std::vector<std::vector<Bytes>>{
                         {packet(1), packet(2)}, {packet(3), packet(4)}, {packet(5)}}));
    EXPECT_EQ(times, (std::vector<Nanoseconds>{1000, 1001, 1002, 1003, 1004}));
}

TEST_F(View, of_what_is_longer_than_all_of_the_space_shows_nothing) {
    OwnedBurst owned({make_mbuf(packet(1), {20}), make_mbuf(Bytes(1001, 1), {500}),
                      make_mbuf(Bytes(1000 - packet(1).size(), 2), {300})});
    std::vector<std::uint8_t> scratch(1000);
    Burst& burst = owned.burst;
    EXPECT_EQ(view(burst, scratch), 0U);
    EXPECT_EQ(burst.too_long, 0b010U);
    EXPECT_EQ(burst.frames[1].length, 0U);
    EXPECT_EQ(burst.lengths[1], 1001U);
    EXPECT_EQ(burst.frames[2].length, 1000 - packet(1).size());
}

TEST_F(View, keeps_the_packets_of_a_mask_as_they_were_seen) {
    OwnedBurst owned({make_mbuf(packet(1)), make_mbuf(Bytes(101, 1), {50}),
                      make_mbuf(packet(2), {9}), make_mbuf(arp())});
    std::vector<std::uint8_t> scratch(100);
    Burst& burst = owned.burst;
    ASSERT_EQ(view(burst, scratch), 0U);
    pipeline::parse(burst, {});
    keep_only(burst, 0b0110);
    EXPECT_EQ(burst.count, 2U);
    EXPECT_EQ(burst.parsed.malformed, 0b01U);
    EXPECT_EQ(burst.parsed.ipv4, 0b10U);
    EXPECT_EQ(burst.parsed.ipv6 | burst.parsed.non_ip, 0U);
    EXPECT_EQ(burst.parsed.ip[1].data, burst.frames[1].data + 14);
    EXPECT_EQ(burst.too_long, 0b01U);
    EXPECT_EQ(burst.lengths[0], 101U);
    EXPECT_EQ(viewed_bytes(burst.frames[1]), packet(2));
    EXPECT_EQ(burst.mbufs[1], owned.owned[2]);
    EXPECT_EQ(burst.times[1], 1002U);
    EXPECT_EQ(burst.bytes, 101 + packet(2).size());
}

TEST_F(View, parts_any_packets_from_the_others_and_keeps_both_in_order) {
    Burst burst;
    std::array<rte_mbuf, kMaxBurst> buffers;
    for (unsigned i = 0; i < kMaxBurst; ++i) {
        burst.mbufs[i] = &buffers[i];
    }
    for (const unsigned count : {1U, 31U, 64U}) {
        burst.count = count;
        for (const std::uint64_t pattern : {0ULL, 1ULL, 0x8000000000000000ULL, 0x123456789ABCDEFULL,
                                            ~0ULL, 0x5555555540000000ULL}) {
            const std::uint64_t mask = pattern & pipeline::first_bits(count);
            std::array<rte_mbuf*, kMaxBurst> some;
            std::array<rte_mbuf*, kMaxBurst> others;
            std::vector<rte_mbuf*> expected[2];
            for (unsigned i = 0; i < count; ++i) {
                expected[mask >> i & 1].push_back(&buffers[i]);
            }
            const unsigned n = part(burst, mask, some, others);
            ASSERT_EQ(n, expected[1].size());
            EXPECT_EQ(std::vector(some.begin(), some.begin() + n), expected[1]);
            EXPECT_EQ(std::vector(others.begin(), others.begin() + (count - n)), expected[0]);
        }
    }
}

TEST_F(View, and_digest_set_every_packet_in_exactly_one_mask) {
    OwnedBurst owned({make_mbuf(packet(1)), make_mbuf(packet(1), {20}), make_mbuf(arp(), {3}),
                      make_mbuf(malformed()), make_mbuf(Bytes(1001, 1), {500}),
                      make_mbuf(packet(2)), make_mbuf(arp_copy(), {3})});
    std::vector<std::uint8_t> scratch(1000);
    Burst& burst = owned.burst;
    ASSERT_EQ(view(burst, scratch), 0U);
    const hash::Secret secret = hash::secret_from_seed(1);
    pipeline::parse(burst, {});
    pipeline::digest(burst, {.mode = packet::KeyMode::kPacket}, secret);
    EXPECT_EQ(burst.keys.keyed, 0b0100011U);
    EXPECT_EQ(burst.keys.non_ip, 0b1000100U);
    EXPECT_EQ(burst.keys.malformed, 0b0001000U);
    EXPECT_EQ(burst.digests[0], burst.digests[1]);
    EXPECT_NE(burst.digests[0], burst.digests[5]);
    pipeline::digest(burst, {.mode = packet::KeyMode::kPacket, .non_ip = packet::NonIp::kFrame},
                     secret);
    EXPECT_EQ(burst.keys.keyed, 0b1100111U);
    EXPECT_EQ(burst.keys.non_ip, 0U);
    EXPECT_EQ(burst.keys.malformed, 0b0001000U);
    pipeline::digest(burst, {.mode = packet::KeyMode::kFrame}, secret);
    EXPECT_EQ(burst.keys.keyed, 0b1101111U);
}

}  // namespace
}  // namespace unecho::test
