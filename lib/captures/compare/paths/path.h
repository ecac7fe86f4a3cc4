// SPDX-License-Identifier: BSD-3-Clause
// Judges a pair of points: matches, clocks, and the paths in both directions.
#pragma once

#include <cstdint>
#include <future>
#include <vector>

#include "captures/compare/comparison.h"
#include "captures/compare/looks/hosts.h"
#include "captures/compare/looks/look.h"

namespace unecho::compare {

// std::async starts a thread with it, or does the work later if none can be started.
inline constexpr auto kIfPossible = std::launch::async | std::launch::deferred;

struct PairOptions {
    Nanoseconds window = 0;
    Clocks clocks = Clocks::kAuto;
    bool every_packet = false;  // each packet of a had to come to b, whatever its hosts
    bool mirror = false;        // and none goes from b to a
    bool nat = false;
    unsigned threads = 1;  // 2 or more: judge both directions at the same time
};

struct PairInput {
    const LookStore& looks;
    const KeyGroups& groups;
    const Hosts& hosts;
    const std::vector<Flow>& flows;
};

struct PairResult {
    PointPair report;
    std::vector<Match> matches;
    std::vector<LookIndex> missing_at_b;  // seen at a only
    std::vector<LookIndex> missing_at_a;
};

PairResult judge_pair(const PairInput& input, const Point& a, const Point& b, std::uint8_t index_a,
                      std::uint8_t index_b, const PairOptions& options);

}  // namespace unecho::compare
