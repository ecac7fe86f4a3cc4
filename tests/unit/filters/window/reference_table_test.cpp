// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/reference_table.h"

#include <vector>

#include <gtest/gtest.h>

#include "support/instance.h"

namespace unecho::filter::reference_table_test {
namespace {

using Instance = test::FilterInstance<ReferenceTable>;

std::string message(const ReferenceSpec& spec) {
    return test::message<ReferenceParams>(spec);
}

// Return the number of the reference, 0 for a new packet.
std::uint64_t observe(Instance& i, Digest digest, Nanoseconds time, std::uint64_t number,
                      unsigned first = 1) {
    PacketReference reference;
    const PacketReference seen{time, number, static_cast<std::uint32_t>(number * 3)};
    if (!i.filter.test_and_insert_first(digest, first, seen, reference)) {
        return 0;
    }
    EXPECT_EQ(reference.tag, reference.number * 3);
    return reference.number;
}

TEST(reference_params, limits_are_named) {
    EXPECT_EQ(message({.entries = 1}), "valid");
    EXPECT_EQ(message({.entries = kMaxExactEntries, .window = 1, .count = 1}), "valid");
    EXPECT_EQ(message({.entries = 0}),
              "exact with references: entries = 0; allowed: 1 to 2147483648");
    EXPECT_EQ(message({.entries = kMaxExactEntries + 1}),
              "exact with references: entries = 2147483649; allowed: 1 to 2147483648");
    EXPECT_EQ(message({.entries = 1, .window = 0}),
              "exact with references: window = 0; allowed: 1 ns or more");
    EXPECT_EQ(message({.entries = 1, .count = 0}),
              "exact with references: count = 0; allowed: 1 or more packets");
}

TEST(reference_params, bytes_hold_buckets_and_entries) {
    const auto bytes = [](std::uint64_t entries) {
        return ReferenceTable::bytes(*ReferenceParams::make({.entries = entries}));
    };
    EXPECT_EQ(bytes(1), 64u + 128);
    EXPECT_EQ(bytes(7), 64u + 8 * 40);
    EXPECT_EQ(bytes(17), 128u + 18 * 40 + 48);
    EXPECT_EQ(ReferenceParams::entries_in(64 + 127), 0u);
    EXPECT_EQ(ReferenceParams::entries_in(0), 0u);
    EXPECT_EQ(ReferenceParams::entries_in(std::uint64_t{1} << 50), kMaxExactEntries);
    for (const std::uint64_t entries : {2u, 7u, 15u, 16u, 17u, 1000u, 1024u, 1025u, 65536u}) {
        const std::uint64_t most = ReferenceParams::entries_in(bytes(entries));
        EXPECT_GE(most, entries);
        EXPECT_LE(bytes(most), bytes(entries));
        EXPECT_GT(bytes(most + 1), bytes(entries));
    }
}

TEST(reference_table, first_packets_pass_and_the_youngest_is_repeated) {
    Instance i({.entries = 8, .window = 100});
    EXPECT_EQ(observe(i, 42, 0, 1, 2), 0u);
    EXPECT_EQ(observe(i, 42, 50, 2, 2), 0u);
    EXPECT_EQ(observe(i, 42, 99, 3, 2), 2u);
    EXPECT_EQ(observe(i, 42, 100, 4, 2), 0u);  // in the slot of packet 1
    EXPECT_EQ(observe(i, 42, 149, 5, 2), 4u);
}

TEST(reference_table, full_table_gives_up_the_oldest_and_counts_it) {
    Instance i({.entries = 4, .window = 1000});
    for (std::uint64_t n = 1; n <= 4; ++n) {
        EXPECT_EQ(observe(i, n, n, n), 0u);
    }
    EXPECT_EQ(observe(i, 5, 5, 5), 0u);
    EXPECT_EQ(i.filter.counters().evicted_early, 1u);
    for (std::uint64_t n = 2; n <= 5; ++n) {
        EXPECT_EQ(observe(i, n, 6, n + 10), n);
    }
    EXPECT_EQ(observe(i, 1, 7, 20), 0u);
    EXPECT_EQ(i.filter.counters().evicted_early, 2u);
}

TEST(reference_table, room_is_what_is_unused_or_outside) {
    Instance i({.entries = 6, .window = 100});
    const auto room = [&](std::uint64_t packets, Nanoseconds time) {
        return i.filter.has_room(packets, {time, 100, 0});
    };
    EXPECT_TRUE(room(6, 0));
    EXPECT_FALSE(room(7, 0));
    for (std::uint64_t n = 1; n <= 5; ++n) {
        observe(i, n, 10 * n, n);
    }
    EXPECT_TRUE(room(1, 109));
    EXPECT_FALSE(room(2, 109));
    EXPECT_TRUE(room(2, 110));
    EXPECT_FALSE(room(3, 110));
    EXPECT_TRUE(room(6, 150));
    EXPECT_FALSE(room(7, 150));
}

TEST(reference_table, live_ones_are_visited_oldest_first) {
    Instance i({.entries = 8, .window = 100, .policy = EchoPolicy::kRefresh});
    for (std::uint64_t n = 1; n <= 4; ++n) {
        observe(i, n, 10 * n, n);
    }
    observe(i, 2, 45, 5);
    std::vector<Digest> digests;
    std::vector<std::uint64_t> numbers;
    i.filter.for_each_live({110, 6, 0},
                           [&](Digest digest, const PacketReference& sighting) noexcept {
                               digests.push_back(digest);
                               numbers.push_back(sighting.number);
                           });
    EXPECT_EQ(digests, (std::vector<Digest>{3, 4, 2}));
    EXPECT_EQ(numbers, (std::vector<std::uint64_t>{3, 4, 5}));
}

// Buckets double from 4096 on. Nothing is forgotten, and nothing absent is found.
TEST(reference_table, growth_keeps_everything) {
    constexpr std::uint64_t kEntries = 20'000;
    Instance i({.entries = kEntries});
    for (std::uint64_t n = 1; n <= kEntries; ++n) {
        ASSERT_EQ(observe(i, n << 40, n, n), 0u);
    }
    for (std::uint64_t n = 1; n <= kEntries; ++n) {
        ASSERT_EQ(observe(i, n << 40, kEntries, kEntries + n), n);
    }
    EXPECT_EQ(i.filter.counters().evicted_early, 0u);
}

}  // namespace
}  // namespace unecho::filter::reference_table_test
