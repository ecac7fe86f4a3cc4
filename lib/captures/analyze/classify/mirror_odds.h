// SPDX-License-Identifier: BSD-3-Clause
// Whether a mirror showed packets of a population again, or their senders said them again. Both
// show equal bytes at one point; what differs is how the echoes lie.
//
//   A mirror does not choose: it shows all, or the same share of each kind of packet and of each
//   flow, or all of some flows. A sender says again segments that were lost, hellos, answers, each
//   kind as often as its protocol wants.
//   A mirror shows each packet a fixed number of times. Who says something twice may say it a third
//   time.
//   A mirror takes microseconds; who waits for an answer takes milliseconds.
//
// Each is a ratio of likelihoods. Chances are drawn from beta priors, so the likelihood of counts
// is a quotient of beta functions.
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

// Second look to sixth, and later ones.
inline constexpr std::size_t kLooks = 6;

struct MirrorCounts {
    std::array<Shown, kGroups> groups{};
    Shown identified;                      // packets that no sender says again with the same ID
    std::array<double, kLooks> looks{};    // of the unidentified
    std::array<double, kGroups> second{};  // second looks of these
    double earlier = 0;                    // second looks of these that came sooner
    Nanoseconds oldest = 0;                // of the echoes
};

// Logarithms of odds.
struct MirrorOdds {
    double all = 0;    // that a mirror showed the echoes of the unidentified packets
    double looks = 0;  // of these what the number of looks says
};

// A population alone, of which a mirror shows nearly all.
[[nodiscard]] MirrorOdds odds_of_population(const MirrorCounts& counts);
// All that was captured. flows: of the unidentified packets.
[[nodiscard]] MirrorOdds odds_of_all(const MirrorCounts& counts, std::span<const Shown> flows);

}  // namespace unecho::analyze
