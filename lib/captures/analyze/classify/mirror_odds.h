// SPDX-License-Identifier: BSD-3-Clause
// Odds that a mirror showed packets of a population again, against repeats by their senders. Both
// put equal bytes at one point; the echoes are distributed differently:
//
//   Choice: a mirror shows all packets, the same share of each kind of packet and of each flow, or
//           all of some flows. A sender repeats lost segments, hellos and answers, each kind as
//           often as its protocol requires.
//   Number: a mirror shows each packet a fixed number of times. A sender that repeats a packet may
//           repeat it again.
//   Age:    a mirror takes microseconds. A sender that waits for an answer takes milliseconds.
//
// Each is a likelihood ratio. Shares have beta priors, so the likelihood of counts is a quotient of
// beta functions.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/units.h"
#include "captures/analyze/classify/packet_kind.h"

namespace unecho::analyze {

// Different packets, and how many of these came again.
struct Shown {
    double packets = 0;
    double again = 0;
};

// Numbers of looks: second to sixth, and later ones.
inline constexpr std::size_t kLooks = 6;

struct MirrorCounts {
    std::array<Shown, kGroups> groups{};
    Shown identified;                      // packets that no sender repeats with the same ID
    std::array<double, kLooks> looks{};    // at unidentified packets
    std::array<double, kGroups> second{};  // second looks at these, by group
    double earlier = 0;                    // second looks at these, at younger ages
    Nanoseconds oldest = 0;                // age of the echoes
};

// Logarithms of odds.
struct MirrorOdds {
    double all = 0;    // that a mirror showed the echoes of unidentified packets
    double looks = 0;  // the part of `all` that the number of looks contributes
};

// Return the odds of one population, of which a mirror shows nearly all.
[[nodiscard]] MirrorOdds odds_of_population(const MirrorCounts& counts);
// Return the odds of the whole capture. flows: of the unidentified packets.
[[nodiscard]] MirrorOdds odds_of_all(const MirrorCounts& counts, std::span<const Shown> flows);

}  // namespace unecho::analyze
