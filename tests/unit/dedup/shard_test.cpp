// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/shard.h"

#include <algorithm>
#include <array>
#include <bit>

#include <gtest/gtest.h>

#include "captures/dedup/deduplicator.h"
#include "dedup/pipeline/bits.h"
#include "packets.h"

namespace unecho::dedup {
namespace {

constexpr std::uint64_t kShardMemory = std::uint64_t{8} << 20;

TEST(shard, reads_numbers_from_one) {
    for (const auto& [text, index, count] :
         {std::tuple{"1/1", 1U, 1U}, {"2/3", 2U, 3U}, {"65536/65536", 65536U, 65536U}}) {
        const auto shard = parse_shard(text);
        ASSERT_TRUE(shard) << text;
        EXPECT_EQ(shard->index, index);
        EXPECT_EQ(shard->count, count);
        EXPECT_EQ(shard->text(), text);
    }
}

TEST(shard, refuses_what_is_none_of_them) {
    for (const char* const text : {"", "3", "/", "1/", "/3", "0/3", "4/3", "1/0", "-1/3", "+1/3",
                                   "1/3 ", "1/65537", "1/4294967297", "1/2/3", "0x1/3"}) {
        const auto shard = parse_shard(text);
        ASSERT_FALSE(shard) << text;
        EXPECT_EQ(shard.error().context,
                  "\"" + std::string(text) +
                      "\"; allowed: I/N, the shard's number from 1 to N and how many there are, "
                      "up to 65536, as in 2/3");
    }
}

TEST(shard, each_owner_is_in_one) {
    for (const std::uint32_t count : {1U, 3U, 65536U}) {
        for (const Digest owner : {Digest{0}, Digest{1} << 63, ~Digest{0}, Digest{12345} << 40}) {
            unsigned taken = 0;
            for (std::uint32_t index = 1; index <= count; ++index) {
                taken += unsigned{takes(Shard{index, count}, owner)};
            }
            EXPECT_EQ(taken, 1U);
        }
    }
}

TEST(shard, keep_only_leaves_everything_of_what_it_keeps) {
    pipeline::Burst burst;
    BurstPosition place;
    std::array<std::uint8_t, kMaxBurst> bytes{};
    burst.count = 10;
    for (unsigned i = 0; i < burst.count; ++i) {
        burst.frames[i] = {&bytes[i], i};
        burst.lengths[i] = i;
        burst.times[i] = 100 + i;
        burst.digests[i] = 200 + i;
        burst.parsed.ip[i] = {&bytes[i], 300 + i};
        burst.opened.tenants[i] = packet::TenantId::of_bits(400 + i);
        place.numbers[i] = 500 + i;
        place.files[i] = 600 + i;
    }
    const std::array masks{&burst.too_long,         &burst.parsed.ipv4,      &burst.parsed.ipv6,
                           &burst.parsed.non_ip,    &burst.parsed.malformed, &burst.opened.opened,
                           &burst.opened.fragments, &burst.opened.malformed, &burst.opened.other,
                           &burst.opened.too_deep,  &burst.keys.keyed,       &burst.keys.non_ip,
                           &burst.keys.malformed};
    for (std::size_t n = 0; n < masks.size(); ++n) {
        *masks[n] = std::uint64_t{0x3A5} * (n + 1) & 0x3FF;
    }
    const pipeline::Burst before = burst;
    const std::array<unsigned, 3> kept{2, 5, 9};
    compact_burst(burst, place, 1U << 2 | 1U << 5 | 1U << 9);
    ASSERT_EQ(burst.count, kept.size());
    EXPECT_EQ(burst.bytes, 2U + 5U + 9U);
    for (unsigned i = 0; i < kept.size(); ++i) {
        EXPECT_EQ(burst.frames[i].data, &bytes[kept[i]]);
        EXPECT_EQ(burst.frames[i].length, kept[i]);
        EXPECT_EQ(burst.lengths[i], kept[i]);
        EXPECT_EQ(burst.times[i], 100 + kept[i]);
        EXPECT_EQ(burst.digests[i], 200 + kept[i]);
        EXPECT_EQ(burst.parsed.ip[i].length, 300 + kept[i]);
        EXPECT_EQ(burst.opened.tenants[i].bits(), before.opened.tenants[kept[i]].bits());
        EXPECT_EQ(place.numbers[i], 500 + kept[i]);
        EXPECT_EQ(place.files[i], 600 + kept[i]);
    }
    for (std::size_t n = 0; n < masks.size(); ++n) {
        const std::uint64_t all = std::uint64_t{0x3A5} * (n + 1) & 0x3FF;
        EXPECT_EQ(*masks[n], (all >> 2 & 1) | (all >> 5 & 1) << 1 | (all >> 9 & 1) << 2) << n;
    }
}

// An Ethernet packet that is too short for its IPv4 header is malformed, and has no key.
TEST(shard, what_is_malformed_is_of_the_first) {
    Packets packets;
    for (unsigned i = 0; i < 60; ++i) {
        packets.add(i, i);  // frames of eight bytes
    }
    const std::vector interfaces{interface_of(1)};
    for (const std::uint32_t index : {1U, 2U, 3U}) {
        Digester digester({.mode = packet::KeyMode::kPacket}, hash::secret_from_seed(1),
                          PacketClock::for_window(kMillisecond), 0, false, Shard{index, 3});
        std::vector<DigestedBurst> bursts;
        digester.digest(packets.records(), interfaces, bursts);
        ASSERT_EQ(bursts.size(), 1U);
        EXPECT_EQ(bursts[0].read, 60U);
        EXPECT_EQ(digester.read(), 60U);
        EXPECT_EQ(digester.elapsed(), 59U);
        EXPECT_EQ(bursts[0].burst.count, index == 1 ? 60U : 0U);
        EXPECT_EQ(bursts[0].mine, index == 1 ? pipeline::first_bits(60) : 0U);
    }
}

// Equal frames are echoes whatever their link types, so the shard must not depend on these.
TEST(shard, equal_frames_of_other_links_are_in_one) {
    Packets packets;
    for (unsigned i = 0; i < 40; ++i) {
        packets.add(i, i / 2, i % 2);
    }
    const std::vector interfaces{interface_of(1), interface_of(113)};
    Digester digester({.mode = packet::KeyMode::kFrame}, hash::secret_from_seed(1),
                      PacketClock::for_window(kMillisecond), 0, false, Shard{1, 2});
    std::vector<DigestedBurst> bursts;
    digester.digest(packets.records(), interfaces, bursts);
    ASSERT_EQ(bursts.size(), 40U);
    unsigned mine = 0;
    for (std::size_t i = 0; i < bursts.size(); i += 2) {
        EXPECT_EQ(bursts[i].mine, bursts[i + 1].mine);
        mine += static_cast<unsigned>(bursts[i].mine);
    }
    EXPECT_GT(mine, 0U);
    EXPECT_LT(mine, 20U);
}

// Batches have odd sizes, so that bursts begin at any bit of a word.
TEST(shard, verdicts_and_pairs_are_at_their_records) {
    constexpr unsigned kPackets = 3000;
    constexpr std::size_t kBatch = 201;
    Packets packets;
    for (unsigned i = 0; i < kPackets; ++i) {
        packets.add(i * kMicrosecond, i % 70);  // all but the first 70 are echoes
    }
    const std::vector interfaces{interface_of(1)};
    std::vector<unsigned> owned(kPackets);
    for (const std::uint32_t index : {1U, 2U, 3U}) {
        Options options;
        options.key = packet::KeyMode::kFrame;
        options.window = kSecond;
        options.shard = Shard{index, 3};
        const auto deduplicator = std::move(*Deduplicator::make(options, kShardMemory));
        Digester digester({.mode = packet::KeyMode::kFrame}, hash::secret_from_seed(1),
                          options.clock(), 0, false, *options.shard);
        std::vector<DigestedBurst> bursts;
        Verdicts verdicts;
        std::size_t pairs = 0;
        for (std::size_t begin = 0; begin < kPackets; begin += kBatch) {
            const auto some = std::span(packets.records())
                                  .subspan(begin, std::min<std::size_t>(kBatch, kPackets - begin));
            digester.digest(some, interfaces, bursts);
            ASSERT_TRUE(deduplicator->decide(bursts, some.size(), true, verdicts));
            for (const EchoPair& pair : verdicts.pairs) {
                EXPECT_EQ(pair.number, begin + pair.record + 1);
                EXPECT_EQ(pair.original, (pair.number - 1) % 70 + 1);
            }
            pairs += verdicts.pairs.size();
            for (std::size_t i = 0; i < some.size(); ++i) {
                const bool mine = (verdicts.mine[i / 64] >> i % 64 & 1) != 0;
                const bool keep = (verdicts.keep[i / 64] >> i % 64 & 1) != 0;
                owned[begin + i] += unsigned{mine};
                EXPECT_EQ(keep, !mine || begin + i < 70);
            }
        }
        EXPECT_EQ(pairs, deduplicator->counts().packets(pipeline::Reason::kEcho));
        EXPECT_GT(pairs, 0U);
    }
    EXPECT_EQ(owned, std::vector<unsigned>(kPackets, 1));
}

TEST(shard, forgets_nothing_and_says_so) {
    Options options;
    options.key = packet::KeyMode::kFrame;
    options.window = kSecond;
    options.shard = Shard{1, 1};
    const auto deduplicator = std::move(*Deduplicator::make(options, std::uint64_t{64} << 10));
    Packets packets;
    for (unsigned i = 0; i < 10'000; ++i) {
        packets.add(i, i);
    }
    Digester digester({.mode = packet::KeyMode::kFrame}, hash::secret_from_seed(1),
                      options.clock());
    std::vector<DigestedBurst> bursts;
    digester.digest(packets.records(), std::vector{interface_of(1)}, bursts);
    Verdicts verdicts;
    const Status decided = deduplicator->decide(bursts, 10'000, false, verdicts);
    ASSERT_FALSE(decided);
    EXPECT_EQ(decided.error().code, Errc::kNoMemory);
    EXPECT_EQ(deduplicator->facts().forgotten, 0U);
}

}  // namespace
}  // namespace unecho::dedup
