// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/collect/recent_table.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <random>
#include <unordered_map>
#include <unordered_set>

#include <gtest/gtest.h>

namespace unecho::analyze {
namespace {

struct Entry {
    Digest digest;
    Nanoseconds last;
    std::uint32_t stamp;
    std::uint32_t value;
};

TEST(RecentTable, finds_what_was_put_in_as_long_as_there_is_room) {
    RecentTable<Entry> table(1 << 20);
    std::mt19937_64 random(1);
    std::unordered_map<Digest, std::uint32_t> oracle;
    const auto nothing = [](const Entry&) { FAIL() << "forgotten"; };
    while (oracle.size() < table.capacity()) {
        // Many share the upper half, which is all that the index stores.
        const Digest digest = (random() % 4096) << 52 | (random() % 65536);
        if (oracle.emplace(digest, static_cast<std::uint32_t>(oracle.size())).second) {
            ASSERT_EQ(table.find(digest), nullptr);
            table.insert(digest, 5, nothing).value = oracle[digest];
        }
    }
    for (const auto& [digest, value] : oracle) {
        ASSERT_NE(table.find(digest), nullptr);
        EXPECT_EQ(table.find(digest)->value, value);
    }
    EXPECT_FALSE(table.blind_after());
    EXPECT_LE(table.bytes(), std::size_t{1} << 20);
    EXPECT_GT(table.capacity() * sizeof(Entry), std::size_t{3} << 17);
}

TEST(RecentTable, full_table_forgets_the_oldest_and_finds_all_others) {
    RecentTable<Entry> table(64 << 10);
    std::mt19937_64 random(2);
    std::vector<Digest> digests;
    std::unordered_set<Digest> forgotten;
    constexpr Nanoseconds kStep = kMillisecond;
    for (std::size_t i = 0; i < 5 * table.capacity(); ++i) {
        digests.push_back(random());
        table.insert(digests.back(), i * kStep,
                     [&](const Entry& old) { forgotten.insert(old.digest); });
    }
    for (std::size_t i = 0; i < digests.size(); ++i) {
        const bool kept = i + table.capacity() >= digests.size();
        ASSERT_EQ(table.find(digests[i]) != nullptr, kept) << i;
        ASSERT_EQ(forgotten.contains(digests[i]), !kept) << i;
    }
    EXPECT_EQ(table.blind_after(), table.capacity() * kStep);
}

TEST(RecentTable, entry_seen_again_stays_longer) {
    RecentTable<Entry> table(64 << 10);
    std::mt19937_64 random(3);
    constexpr Digest kKnown = 42;
    const auto forget = [](const Entry&) {};
    table.insert(kKnown, 0, forget);
    for (std::size_t i = 1; i < 4 * table.capacity(); ++i) {
        const Nanoseconds now = i * kMillisecond;
        table.insert(random() | 1U, now, forget);
        ASSERT_NE(table.find(kKnown), nullptr) << i;
        table.find(kKnown)->last = now;
    }
}

TEST(RecentTable, place_that_was_found_before_is_looked_at_again) {
    RecentTable<Entry> table(64 << 10);
    const auto forget = [](const Entry&) {};
    Entry* const entry = &table.insert(7, 0, forget);
    const RecentTable<Entry>::Place before = table.prefetch_entry(7);
    EXPECT_EQ(before.entry, entry);
    EXPECT_EQ(table.find(7, before), entry);
    EXPECT_EQ(table.find(7, {}), entry);
    EXPECT_EQ(table.find(8, before), nullptr);
    for (std::size_t i = 0; i < table.capacity(); ++i) {
        table.insert(remix(i, 0), kSecond, forget);
    }
    EXPECT_EQ(table.find(7, before), nullptr);  // the place holds another entry now
}

// Between prefetch_entry() and insert() come other keys, and the same one, until some are evicted.
TEST(RecentTable, place_where_nothing_was_is_good_as_long_as_it_is_free) {
    RecentTable<Entry> table(64 << 10);
    std::mt19937_64 random(5);
    const auto forget = [](const Entry&) {};
    std::size_t known = 0;
    const std::size_t rounds = 4 * table.capacity();
    for (std::uint32_t i = 0; i < rounds; ++i) {
        const Digest digest = random() | 1U;
        const RecentTable<Entry>::Place before = table.prefetch_entry(digest);
        ASSERT_EQ(before.entry, nullptr);
        // A neighbour in the index, and the digest itself.
        const Digest near = (digest & ~(Digest{0xFF} << 32)) | (random() & 0xFF) << 32;
        for (const Digest other : {near, digest}) {
            if (random() % 4 == 0 && table.find(other) == nullptr) {
                table.insert(other, i, forget).value = 1;
            }
        }
        Entry* const found = table.find(digest, before);
        ASSERT_EQ(found, table.find(digest)) << i;
        if (found != nullptr) {
            ++known;
            continue;
        }
        table.insert(digest, i, forget, before).value = 3;
        ASSERT_NE(table.find(digest), nullptr) << i;
        EXPECT_EQ(table.find(digest)->value, 3U);
    }
    EXPECT_GT(known, rounds / 8);
    EXPECT_LT(known, rounds / 2);
}

// Digests collide at the end of the index, wrapping to its start; at its start; in its middle.
TEST(RecentTable, index_grows_where_it_is) {
    for (const Digest upper : {Digest{0xFFFF'FFFF} << 32, Digest{0}, Digest{0x7FFF'FFFF} << 32}) {
        RecentTable<Entry> table(1 << 20);
        for (Digest lower = 0; lower < 3000; ++lower) {
            table.insert(upper + lower, 5, [](const Entry&) {}).value = 7;
            table.insert(remix(lower, 1), 5, [](const Entry&) {}).value = 8;
        }
        for (Digest lower = 0; lower < 3000; ++lower) {
            ASSERT_NE(table.find(upper + lower), nullptr) << lower;
            EXPECT_EQ(table.find(upper + lower)->value, 7U);
            ASSERT_NE(table.find(remix(lower, 1)), nullptr) << lower;
            EXPECT_EQ(table.find(remix(lower, 1))->value, 8U);
        }
        EXPECT_EQ(table.find(upper + 3000), nullptr);
    }
}

TEST(LazyPages, is_of_zeros_in_cache_lines) {
    constexpr std::size_t kBytes = std::size_t{5} << 20;
    const LazyPages memory(kBytes);
    auto* const bytes = memory.as<std::uint8_t>();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % 64, 0U);
    EXPECT_EQ(std::count(bytes, bytes + kBytes, 0), static_cast<std::ptrdiff_t>(kBytes));
    std::fill_n(bytes, kBytes, std::uint8_t{1});
}

TEST(LazyPages, that_there_is_not_is_told_at_once) {
    EXPECT_THROW(LazyPages(std::size_t{1} << 60), std::bad_alloc);
}

}  // namespace
}  // namespace unecho::analyze
