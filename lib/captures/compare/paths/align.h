// SPDX-License-Identifier: BSD-3-Clause
// Alignment: it decides which look at one point belongs to which look at another. Mostly a key has
// one look at each, and there is nothing to choose. Packets that do not say which transmission they
// are (retransmissions, keepalives) have several. Transmissions keep their order, so of all
// alignments in order the best has the least sum of |delay|, where a look that stays alone counts
// as half the window.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "captures/compare/looks/look.h"

namespace unecho::compare {

// Two looks at one transmission, with what is read of them often.
struct Match {
    LookIndex a = 0;
    LookIndex b = 0;
    Nanoseconds time = 0;         // of a
    std::int64_t difference = 0;  // how much later b came, each by the clock of its point
    std::uint32_t flow_a = 0;
    std::uint32_t flow_b = 0;
    std::int16_t hops = 0;  // by how much the TTL is lower at b
    bool identified = false;
};

[[nodiscard]] inline Match match_of(const LookStore& looks, LookIndex a, LookIndex b) {
    const Look& at_a = looks[a];
    const Look& at_b = looks[b];
    return {a,
            b,
            at_a.time,
            static_cast<std::int64_t>(at_b.time - at_a.time),
            at_a.flow,
            at_b.flow,
            static_cast<std::int16_t>(int{at_a.traits.ttl} - int{at_b.traits.ttl}),
            at_a.identified != 0};
}

// The line that says by how many ns the clock of b is ahead, over the time of a.
struct ClockLine {
    Nanoseconds begin = 0;
    std::int64_t base = 0;  // most of the offset; the rest is exact as a double
    double offset = 0;      // at begin, beyond base
    double drift = 0;       // change of the offset per ns

    [[nodiscard]] std::int64_t at(Nanoseconds time) const {
        return base + std::llround(offset + drift * static_cast<double>(
                                                        static_cast<std::int64_t>(time - begin)));
    }
};

class Aligner {
  public:
    // window: two looks that are further apart do not match.
    Aligner(const LookStore& looks, const ClockLine& line, Nanoseconds window)
        : looks_(looks), line_(line), window_(static_cast<std::int64_t>(window)) {}

    // Append the matches of looks at one key, in order of time. a, b: in order of time.
    void align(std::span<const LookIndex> a, std::span<const LookIndex> b,
               std::vector<Match>& matches);

  private:
    // Longer lists are aligned in blocks of this length, half a block at a time. So a transmission
    // may be on its way while half as many equal ones are sent.
    static constexpr std::size_t kBlock = 1024;

    [[nodiscard]] std::int64_t later(LookIndex a, LookIndex b) const;
    [[nodiscard]] std::int64_t distance(LookIndex a, LookIndex b) const;
    void align_best(std::span<const LookIndex> a, std::span<const LookIndex> b,
                    std::vector<Match>& matches);
    void align_in_blocks(std::span<const LookIndex> a, std::span<const LookIndex> b,
                         std::vector<Match>& matches);

    const LookStore& looks_;
    ClockLine line_;
    std::int64_t window_;
    std::vector<std::int64_t> costs_;
};

}  // namespace unecho::compare
