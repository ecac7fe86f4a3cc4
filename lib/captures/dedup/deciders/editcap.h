// SPDX-License-Identifier: BSD-3-Clause
// What editcap takes for a duplicate, for those who have to get the same packets as with it. It
// differs from a window as everywhere else in unecho:
//   editcap -w W   any earlier packet of the same bytes, dropped or not, no later than this one and
//                  at most W older, W included. Times are the packets' own; the search goes back to
//                  the first packet of any content that is more than W older, and at most 999,999
//                  packets.
//   editcap -D N   any packet of the same bytes, dropped or not, among the N - 1 packets before.
// Both take a constant time on average where editcap compares with every packet of the window.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "base/units.h"
#include "filters/hash/digest.h"

namespace unecho::offline {

inline constexpr std::uint64_t kMaxEditcapCount = 1'000'000;

class EditcapSearch {
  public:
    struct Found {
        std::uint64_t number = 0;
        Nanoseconds time = 0;
        std::uint32_t tag = 0;
    };

    // One of the two. count is N, up to kMaxEditcapCount.
    static EditcapSearch by_time(Nanoseconds window, std::span<std::byte> memory);
    static EditcapSearch by_count(std::uint64_t count, std::span<std::byte> memory);

    // Zeroed.
    static std::uint64_t memory_bytes();

    // Packet number, from 1 and each one higher than the last. The packet that it repeats.
    std::optional<Found> find_and_insert(std::uint64_t number, Nanoseconds time, Digest digest,
                                         std::uint32_t tag);

  private:
    // A power of two above the depth of the search.
    static constexpr std::uint64_t kRing = std::uint64_t{1} << 20;
    static constexpr std::uint64_t kDepth = 1'000'000;

    struct Packet {
        Digest digest;
        Nanoseconds time;
        std::uint64_t previous;  // number of the one before it with the same head
        std::uint32_t tag;
    };
    struct Rise {
        Nanoseconds time;
        std::uint64_t number;
    };

    EditcapSearch(bool by_time, std::uint64_t limit, std::span<std::byte> memory);

    std::uint64_t barrier_of(std::uint64_t number, Nanoseconds time);
    void keep_rise(std::uint64_t number, Nanoseconds time);

    bool by_time_;
    std::uint64_t limit_;   // nanoseconds, or packets
    Packet* packets_;       // by number % kRing
    std::uint64_t* heads_;  // the last packet of each bucket, by number; 0: none
    // Packets that no later one is older than or as old as: their times rise strictly. The last of
    // them below a time is the last packet at all below it.
    std::deque<Rise> rises_;
};

}  // namespace unecho::offline
