// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/tally/talkers.h"

#include <array>
#include <cstdio>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace unecho::analyze {
namespace {

AddressPair pair_of(std::uint32_t number) {
    AddressPair pair;
    pair.bytes[0] = 10;
    pair.bytes[1] = static_cast<std::uint8_t>(number >> 16);
    pair.bytes[2] = static_cast<std::uint8_t>(number >> 8);
    pair.bytes[3] = static_cast<std::uint8_t>(number);
    pair.bytes[16] = 192;
    pair.bytes[19] = 1;
    return pair;
}

TEST(Talkers, versions_do_not_mix) {
    Talkers talkers;
    AddressPair v6 = pair_of(1);
    v6.v6 = true;
    talkers.add(v6, 1);
    talkers.add(pair_of(1), 1);
    const auto most = talkers.most(9);
    ASSERT_EQ(most.size(), 2U);
    EXPECT_EQ(most[0].echoes, 1U);
    EXPECT_NE(most[0].source.find(':') == std::string::npos,
              most[1].source.find(':') == std::string::npos);
}

// The bounds of the space-saving algorithm: count - excess <= truth <= count.
TEST(Talkers, heavy_pairs_stay_among_many_light_ones_and_bounds_hold) {
    Talkers talkers;
    std::mt19937_64 random(1);
    std::map<std::uint32_t, std::uint64_t> truth;
    for (unsigned i = 0; i < 400'000; ++i) {
        const auto number = static_cast<std::uint32_t>(
            random() % 4 == 0 ? random() % 10 : 1000 + random() % 200'000);
        talkers.add(pair_of(number), 1);
        ++truth[number];
    }
    const auto most = talkers.most(10);
    ASSERT_EQ(most.size(), 10U);
    for (const Talker& talker : most) {
        ASSERT_EQ(talker.source.rfind("10.0.0.", 0), 0U) << talker.source;
        const auto number = static_cast<std::uint32_t>(std::stoul(talker.source.substr(7)));
        ASSERT_LT(number, 10U);
        EXPECT_LE(truth[number], talker.echoes);
        EXPECT_GE(truth[number], talker.echoes - talker.excess);
        EXPECT_LE(talker.bytes, truth[number]);
    }
    for (const Talker& talker : talkers.most(5000)) {  // with light ones that are evicted
        unsigned a = 0;
        unsigned b = 0;
        unsigned c = 0;
        ASSERT_EQ(std::sscanf(talker.source.c_str(), "10.%u.%u.%u", &a, &b, &c), 3);
        const std::uint64_t count = truth[a << 16 | b << 8 | c];
        ASSERT_LE(count, talker.echoes);
        ASSERT_GE(count, talker.echoes - talker.excess);
    }
}

// Each packet is counted by one of three parts, which are merged in either order.
TEST(Talkers, bounds_hold_of_what_several_counted) {
    std::array<Talkers, 3> parts;
    std::mt19937_64 random(2);
    std::map<std::uint32_t, std::uint64_t> truth;
    for (unsigned i = 0; i < 300'000; ++i) {
        const auto number = static_cast<std::uint32_t>(
            random() % 4 == 0 ? random() % 10 : 1000 + random() % 100'000);
        parts[random() % 3].add(pair_of(number), 1);
        ++truth[number];
    }
    TopSummary<AddressPair> sum = parts[0].summary();
    sum.add(parts[1].summary());
    sum.add(parts[2].summary());
    TopSummary<AddressPair> other = parts[1].summary();
    other.add(parts[0].summary());
    TopSummary<AddressPair> last = parts[2].summary();
    last.add(other);
    const auto slots = sum.most(SIZE_MAX);
    const auto same = last.most(SIZE_MAX);
    ASSERT_EQ(slots.size(), same.size());
    bool doubt = false;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        EXPECT_EQ(slots[i].key, same[i].key);
        EXPECT_EQ(slots[i].count, same[i].count);
        EXPECT_EQ(slots[i].excess, same[i].excess);
        EXPECT_EQ(slots[i].bytes, same[i].bytes);
        const auto& bytes = slots[i].key.bytes;
        const std::uint64_t count = truth[bytes[1] << 16U | bytes[2] << 8U | bytes[3]];
        ASSERT_LE(count, slots[i].count);
        ASSERT_GE(count, slots[i].count - slots[i].excess);
        ASSERT_LE(slots[i].bytes, count);
        doubt = doubt || slots[i].excess != 0;
    }
    EXPECT_TRUE(doubt);
    for (std::size_t i = 0; i < 10; ++i) {
        EXPECT_LT(slots[i].key, pair_of(10)) << i;
    }
}

// All keys have one hash, so only comparing the keys tells them apart.
TEST(TopCounts, keys_of_one_hash_are_told_apart) {
    TopCounts<std::uint32_t> counts(4);
    for (std::uint32_t round = 0; round < 3; ++round) {
        for (std::uint32_t key = 0; key < 8; ++key) {
            for (std::uint32_t i = 0; i <= key; ++i) {
                counts.add(key, 77, 10);
            }
        }
    }
    const auto most = counts.most(9);
    ASSERT_EQ(most.size(), 8U);
    for (std::uint32_t i = 0; i < 8; ++i) {
        EXPECT_EQ(most[i].key, 7 - i);
        EXPECT_EQ(most[i].count, 3 * (8 - i));
        EXPECT_EQ(most[i].bytes, 30 * (8 - i));
        EXPECT_EQ(most[i].excess, 0U);
    }
    counts.add(100, 77, 10);  // replaces the rarest and inherits its count
    EXPECT_EQ(counts.most(8).back().key, 100U);
    EXPECT_EQ(counts.most(8).back().count, 4U);
    EXPECT_EQ(counts.most(8).back().excess, 3U);
}

}  // namespace
}  // namespace unecho::analyze
