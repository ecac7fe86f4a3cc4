// SPDX-License-Identifier: BSD-3-Clause
// Routing loops: a packet passes the same place (interface and MAC addresses) again and again, each
// time with a TTL lower by the same step, after about the same time. Taps along a path see falling
// TTLs too, but each with other MAC addresses.
//
// A packet is in a loop from its third round on; from then on, its copies elsewhere belong to the
// loop too. Earlier rounds are counted by how they differ. Memory is bounded: the oldest packets
// are forgotten.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "captures/analyze/classify/echo_cause.h"
#include "captures/analyze/collect/recent_table.h"
#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// MAC addresses of a frame that has them, destination first; else null.
using MacBytes = const std::uint8_t*;

// The two ends of a link, the lower MAC address first; 0 if there are none.
using LoopPlace = std::array<std::uint8_t, 12>;

// Copies of a loop on one link. step and round are those of the latest copy; of several at that
// time, the largest.
struct LoopCount {
    LoopPlace place{};
    Count copies;
    std::uint64_t packets = 0;
    Nanoseconds latest = 0;
    std::uint32_t step = 0;
    Nanoseconds round = 0;

    void add(const LoopCount& more);
    template <typename Io>
    void state(Io& io) {
        io(place, copies, packets, latest, step, round);
    }
};

// Return the rows, most copies first, then by place.
[[nodiscard]] std::vector<Loop> loop_rows(std::vector<LoopCount> counts);

class Loops {
  public:
    explicit Loops(std::size_t bytes) : table_(bytes) {}
    Loops(const Loops& other, std::size_t bytes)
        : table_(other.table_, bytes, [](Entry&, const Entry&) {}),
          started_(other.started_),
          places_(other.places_) {}

    // An echo with a lower TTL than the first packet of its key.
    struct Lower {
        Digest digest = 0;
        const FrameTraits& first;
        const FrameTraits& echo;
        bool same_interface = false;
        Nanoseconds since_first = 0;
        Nanoseconds now = 0;
        std::uint64_t length = 0;
        MacBytes macs = nullptr;
    };
    // Return true if the echo came by a loop.
    bool add(const Lower& echo);

    [[nodiscard]] const std::vector<LoopCount>& counts() const noexcept { return places_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return table_.bytes(); }

  private:
    struct Entry {
        Digest digest;
        Nanoseconds last;   // time of the last round
        Nanoseconds round;  // its duration
        std::uint32_t stamp;
        std::uint8_t ttl;  // in the last round
        std::uint8_t step;
        std::uint8_t rounds;  // up to kRounds
    };
    static constexpr std::uint8_t kRounds = 3;
    static constexpr std::size_t kMaxPlaces = 64;

    bool next_round(Entry& entry, const Lower& echo) const noexcept;
    void count(const Lower& echo, const Entry& entry, bool begins);

    RecentTable<Entry> table_;
    bool started_ = false;  // the table has entries
    std::vector<LoopCount> places_;
};

}  // namespace unecho::analyze
