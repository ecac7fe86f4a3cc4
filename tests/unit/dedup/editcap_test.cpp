// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/deciders/editcap.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "captures/dedup/deciders/packet_memory.h"
#include "support/seed.h"

namespace unecho::dedup {
namespace {

struct Packet {
    Nanoseconds time;
    Digest digest;
};

class Search {
  public:
    static Search by_time(Nanoseconds window) {
        MappedMemory memory = *allocate_packet_memory(EditcapSearch::memory_bytes());
        const EditcapSearch search = EditcapSearch::by_time(window, memory.bytes());
        return {std::move(memory), search};
    }
    static Search by_count(std::uint64_t count) {
        MappedMemory memory = *allocate_packet_memory(EditcapSearch::memory_bytes());
        const EditcapSearch search = EditcapSearch::by_count(count, memory.bytes());
        return {std::move(memory), search};
    }

    // Return the number of the packet that it repeats, or 0.
    std::uint64_t find_and_insert(Nanoseconds time, Digest digest) {
        ++number_;
        const auto found =
            search_.find_and_insert(number_, time, digest, static_cast<std::uint32_t>(number_));
        if (!found) {
            return 0;
        }
        EXPECT_EQ(found->tag, found->number);
        return found->number;
    }

  private:
    Search(MappedMemory memory, const EditcapSearch& search)
        : memory_(std::move(memory)), search_(search) {}
    MappedMemory memory_;
    EditcapSearch search_;
    std::uint64_t number_ = 0;
};

// Search as editcap does: back from the packet, one by one.
std::uint64_t search_back(const std::vector<Packet>& packets, std::size_t at, Nanoseconds window) {
    for (std::size_t i = at; i-- > 0;) {
        if (packets[i].time + window < packets[at].time) {
            return 0;
        }
        if (packets[i].time <= packets[at].time && packets[i].digest == packets[at].digest) {
            return i + 1;
        }
    }
    return 0;
}

TEST(editcap, equals_the_search_back_on_random_times) {
    SCOPED_TRACE(test::seed_note());
    std::mt19937_64 random(test::seed());
    for (const Nanoseconds window : {0ULL, 1ULL, 10ULL, 300ULL, ~0ULL >> 2}) {
        Search search = Search::by_time(window);
        std::vector<Packet> packets;
        Nanoseconds now = 5;
        unsigned echoes = 0;
        for (unsigned i = 0; i < 3000; ++i) {
            now += random() % 4;
            const Nanoseconds back = random() % 5 == 0 ? random() % 50 : 0;
            packets.push_back({now > back ? now - back : 0, random() % 40});
            const std::uint64_t expected = search_back(packets, i, window);
            ASSERT_EQ(search.find_and_insert(packets[i].time, packets[i].digest), expected)
                << "window " << window << " packet " << i + 1;
            echoes += expected != 0 ? 1 : 0;
        }
        EXPECT_GT(echoes, 5u) << window;
    }
}

// The search goes back 999,999 packets, and not one more.
TEST(editcap, depth_is_that_of_editcap) {
    for (const std::uint64_t between : {999'998U, 999'999U}) {
        Search search = Search::by_time(~Nanoseconds{0} >> 1);
        EXPECT_EQ(search.find_and_insert(1, 42), 0u);
        for (std::uint64_t i = 0; i < between; ++i) {
            ASSERT_EQ(search.find_and_insert(i, 1000 + i), 0u);
        }
        EXPECT_EQ(search.find_and_insert(between, 42), between == 999'998 ? 1u : 0u);
    }
}

TEST(editcap, count_means_one_packet_less) {
    Search search = Search::by_count(3);
    EXPECT_EQ(search.find_and_insert(0, 1), 0u);
    EXPECT_EQ(search.find_and_insert(0, 2), 0u);
    EXPECT_EQ(search.find_and_insert(0, 1), 1u);
    EXPECT_EQ(search.find_and_insert(0, 3), 0u);
    EXPECT_EQ(search.find_and_insert(0, 4), 0u);
    EXPECT_EQ(search.find_and_insert(0, 1), 0u);
    Search none = Search::by_count(1);
    EXPECT_EQ(none.find_and_insert(0, 1), 0u);
    EXPECT_EQ(none.find_and_insert(0, 1), 0u);
}

TEST(editcap, count_looks_at_no_time) {
    Search search = Search::by_count(2);
    EXPECT_EQ(search.find_and_insert(100, 1), 0u);
    EXPECT_EQ(search.find_and_insert(50, 1), 1u);
}

TEST(editcap, largest_count_reaches_its_last_packet) {
    for (const std::uint64_t between : {kMaxEditcapCount - 2, kMaxEditcapCount - 1}) {
        Search search = Search::by_count(kMaxEditcapCount);
        EXPECT_EQ(search.find_and_insert(0, 42), 0u);
        for (std::uint64_t i = 0; i < between; ++i) {
            ASSERT_EQ(search.find_and_insert(0, 1000 + i), 0u);
        }
        EXPECT_EQ(search.find_and_insert(0, 42), between == kMaxEditcapCount - 2 ? 1u : 0u);
    }
}

}  // namespace
}  // namespace unecho::dedup
