// SPDX-License-Identifier: BSD-3-Clause
// The duplicates that editcap finds, for users who need the same packets as from editcap. They
// differ from unecho's windows. A packet is a duplicate of:
//   editcap -w W   any earlier packet with the same bytes, dropped or not, that is 0 to W older, W
//                  included. Times are the packets' own. The search goes back to the first packet,
//                  of any content, that is more than W older, and over at most 999,999 packets.
//   editcap -D N   any packet with the same bytes, dropped or not, among the N - 1 packets before.
// Both take constant time on average, where editcap compares with every packet of the window.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "base/units.h"
#include "filters/hash/digest.h"

namespace unecho::dedup {

inline constexpr std::uint64_t kMaxEditcapCount = 1'000'000;

class EditcapSearch {
  public:
    struct Found {
        std::uint64_t number = 0;
        Nanoseconds time = 0;
        std::uint32_t tag = 0;
    };

    // Search by time, or by count. count: N, up to kMaxEditcapCount.
    static EditcapSearch by_time(Nanoseconds window, std::span<std::byte> memory);
    static EditcapSearch by_count(std::uint64_t count, std::span<std::byte> memory);

    // The memory must be zeroed.
    static std::uint64_t memory_bytes();

    // Return the packet that this one repeats, and insert this one. number: from 1, rising.
    std::optional<Found> find_and_insert(std::uint64_t number, Nanoseconds time, Digest digest,
                                         std::uint32_t tag);

  private:
    // A power of two above the depth of the search.
    static constexpr std::uint64_t kRing = std::uint64_t{1} << 20;
    static constexpr std::uint64_t kDepth = 1'000'000;

    struct Packet {
        Digest digest;
        Nanoseconds time;
        std::uint64_t previous;  // number of the one before it in its bucket
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
    std::uint64_t limit_;   // nanoseconds or packets
    Packet* packets_;       // by number % kRing
    std::uint64_t* heads_;  // number of the last packet of each bucket; 0: none
    // Packets whose time is before that of all later packets, so that their times rise strictly.
    // The last of them below a time is the last of all packets below it.
    std::deque<Rise> rises_;
};

}  // namespace unecho::dedup
