// SPDX-License-Identifier: BSD-3-Clause
// The clocks of two points, and the direction of each matched packet.
//
// A packet from a to b that takes the time d shows the difference o + d, where o is how far clock b
// is ahead. One from b to a shows o - d. So for two hosts that talk to each other, all differences
// of one direction are above o and those of the other below it, whatever o is. This gives the
// direction, and bounds of o. If 0 lies between the bounds, nothing speaks against equal clocks,
// and they are taken as equal. Else o is the line in the middle of the widest strip that separates
// the two directions: it assumes that the fastest packets of both directions took equally long, and
// its slope is the drift.
//
// If only one direction is seen, a TTL that is lower by a few hops shows the later point. Then o
// cannot be told from the delay: the fastest packet counts as taking no time, and only differences
// of delays are known (Moon, Skelly and Towsley, INFOCOM 1999).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "captures/compare/looks/hosts.h"
#include "captures/compare/looks/look.h"
#include "captures/compare/paths/align.h"

namespace unecho::compare {

enum class Clocks : std::uint8_t { kAuto, kSame, kApart };
inline constexpr std::array<std::string_view, 3> kClocksNames{"auto", "same", "apart"};

enum class ClockRelation : std::uint8_t {
    kUnknown,    // no packet was seen at both points
    kStated,     // equal, as requested
    kAssumed,    // nothing was seen that tells clocks from delays
    kAgree,      // both directions allow equal clocks
    kEstimated,  // o and the drift are estimated from both directions
    kOneWay,     // the fastest packet counts as taking no time
};
inline constexpr std::array<std::string_view, 6> kClockRelationNames{
    "unknown", "stated", "assumed", "agree", "estimated", "one-way"};

struct ClockModel {
    ClockRelation relation = ClockRelation::kUnknown;
    ClockLine line;
    // Bounds of the offset at line.begin, without its drift; known if both directions were seen.
    // low > high: the clocks step, or the drift is not even.
    bool bounded = false;
    std::int64_t low = 0;
    std::int64_t high = 0;
};

// A guess before directions are known, from keys that each point saw once.
struct FirstGuess {
    ClockLine line;         // 0 if the clocks may be equal
    bool equal = true;      // nothing speaks against equal clocks
    std::uint64_t far = 0;  // keys whose looks are further apart than the window
};
// stated: the clocks are equal in any case.
FirstGuess guess_clocks(std::span<const Match> single, Nanoseconds window, bool stated = false);

struct ClockFit {
    ClockModel clock;
    std::vector<bool> forward;  // of each match: from a to b
};

struct ClockRules {
    Clocks clocks = Clocks::kAuto;
    bool mirror = false;   // all packets go from a to b
    bool equal = true;     // FirstGuess::equal
    Nanoseconds tick = 1;  // the coarser unit of both points' timestamps
};

ClockFit fit_clocks(std::span<const Match> matches, const Hosts& hosts, const ClockRules& rules);

}  // namespace unecho::compare
