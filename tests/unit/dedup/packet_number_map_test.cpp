// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/results/packet_number_map.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "support/seed.h"

namespace unecho::dedup {
namespace {

TEST(PacketNumberMap, are_found_again_as_far_as_they_reach) {
    std::mt19937_64 random(test::seed());
    for (const std::uint64_t reach : {1U, 7U, 1000U}) {
        PacketNumberMap numbers({.reach = reach});
        std::vector<std::uint64_t> all{0};
        while (all.size() <= 5000) {
            const std::uint64_t first = all.size();
            for (std::uint64_t n = random() % 65 + 1; n != 0; --n) {
                all.push_back(all.back() + 1 + (random() % 4 == 0 ? random() % 9 : 0));
            }
            const std::span<const std::uint64_t> added = std::span(all).subspan(first);
            numbers.add(first, added);
            for (std::size_t i = first > reach ? first - reach : 1; i < all.size(); ++i) {
                ASSERT_EQ(numbers.of(i), all[i]) << i << " with " << reach;
            }
            ASSERT_LE(numbers.runs(), reach + 2 * 65);
        }
    }
}

TEST(PacketNumberMap, without_gaps_take_no_memory) {
    PacketNumberMap numbers({.reach = 1'000'000});
    std::vector<std::uint64_t> part(64);
    for (std::uint64_t first = 1; first < 100'000; first += part.size()) {
        for (std::size_t i = 0; i < part.size(); ++i) {
            part[i] = first + i;
        }
        numbers.add(first, part);
    }
    EXPECT_EQ(numbers.runs(), 0U);
    EXPECT_EQ(numbers.of(77), 77U);
}

TEST(PacketNumberMap, what_was_forgotten_has_no_number) {
    PacketNumberMap numbers({.runs = 2});
    EXPECT_EQ(numbers.of(3), 3U);
    for (const std::uint64_t packet : {10U, 20U, 20U, 30U}) {
        numbers.add_gap_before(packet);
    }
    EXPECT_EQ(numbers.runs(), 2U);
    EXPECT_EQ(numbers.of(19), std::nullopt);
    EXPECT_EQ(numbers.of(20), 23U);
    EXPECT_EQ(numbers.of(29), 32U);
    EXPECT_EQ(numbers.of(30), 34U);
}

}  // namespace
}  // namespace unecho::dedup
