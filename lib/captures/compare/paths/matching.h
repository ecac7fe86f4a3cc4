// SPDX-License-Identifier: BSD-3-Clause
// Matches of a pair of points: which look at one is which look at the other, and what that says of
// their clocks. Looks are aligned along a first guess of the clocks, and again if the clocks that
// follow are far from it. On request, looks that are left are matched by their content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "captures/compare/looks/hosts.h"
#include "captures/compare/looks/look.h"
#include "captures/compare/paths/align.h"
#include "captures/compare/paths/clock.h"

namespace unecho::compare {

struct MatchRules {
    Nanoseconds window = 0;
    Clocks clocks = Clocks::kAuto;
    bool mirror = false;
    bool nat = false;
    Nanoseconds tick = 1;  // the coarser unit of both points' timestamps
};

struct Matches {
    std::vector<Match> list;
    std::size_t translated_from = 0;  // later ones are by content
    std::vector<bool> matched;        // by look
    ClockFit fit;                     // of list
    std::uint64_t far = 0;            // seen once at both points, further apart than the window
};

Matches match_points(const LookStore& looks, const KeyGroups& groups, const Hosts& hosts,
                     std::uint8_t a, std::uint8_t b, const MatchRules& rules);

// Call visit(index) for each look at the two points that is neither matched nor a duplicate.
template <typename Visit>
void for_each_unmatched(const LookStore& looks, const std::vector<bool>& matched, std::uint8_t a,
                        std::uint8_t b, Visit visit) {
    for (std::size_t input = 0; input < looks.inputs(); ++input) {
        const LookIndex first = looks.first_of(input);
        for (std::uint64_t i = 0; i < looks.count_of(input); ++i) {
            const auto index = static_cast<LookIndex>(first + i);
            const Look& one = looks[index];
            if (!matched[index] && one.duplicate == 0 && (one.point == a || one.point == b)) {
                visit(index);
            }
        }
    }
}

}  // namespace unecho::compare
