// SPDX-License-Identifier: BSD-3-Clause
// The result of a comparison: what each point showed, and for each pair of points which packets of
// one never came at the other, and how late the others were. Times are in ns.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "captures/compare/looks/flow.h"
#include "captures/compare/looks/look_reader.h"
#include "captures/compare/paths/clock.h"
#include "filters/sizing/binomial.h"
#include "packets/keys/change.h"

namespace unecho::compare {

// Return part / all, or 0 of nothing.
[[nodiscard]] inline double share_of(std::uint64_t part, std::uint64_t all) {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

struct Point {
    std::string name;  // of the file, without its folder if that is clear, or of the interface
    std::string file;
    bool is_file = false;  // all of it, not one of its interfaces
    PointCounts counts;
    std::uint64_t compared = 0;    // of the sample, without duplicates
    std::uint64_t duplicates = 0;  // of the sample: transmissions that the point showed before
    // Packets of the sample that the points before and behind it showed, and how many of these it
    // did not show: its tap or capture lost them.
    std::uint64_t passed = 0;
    std::uint64_t overlooked = 0;
};

struct Delays {
    std::int64_t least = 0;
    std::int64_t median = 0;
    std::int64_t p99 = 0;
    std::int64_t p999 = 0;
    std::int64_t most = 0;
    double mean = 0;
    double variation = 0;  // mean |difference| of the delays of successive packets (RFC 3393)
};

using packet::Change;
using packet::kChangeNames;

struct TimeBin {
    Nanoseconds begin = 0;  // since 1970, by the clock of the sending point
    std::uint64_t sent = 0;
    std::uint64_t missing = 0;
    std::int64_t median = 0;
    std::int64_t p99 = 0;
};

struct FlowLoss {
    Flow flow;
    std::uint64_t sent = 0;
    std::uint64_t missing = 0;
    std::int64_t median = 0;
    std::int64_t most = 0;
};

// Packets from one point to another. Only those are judged that had to be seen at the other while
// both points captured.
struct Path {
    std::size_t from = 0;  // index of the point
    std::size_t to = 0;
    std::uint64_t sent = 0;
    std::uint64_t arrived = 0;
    std::uint64_t missing = 0;
    sizing::Interval loss;
    std::uint64_t unjudged = 0;  // at the ends of the captures
    // Arrived without having been seen at `from`: its tap or capture lost them.
    std::uint64_t unannounced = 0;
    sizing::Interval unannounced_share;  // of all that arrived

    std::uint64_t all_arrived = 0;  // with those that are not judged; `changes` counts them
    bool timed = false;             // some judged packet arrived
    Delays delays;
    std::uint64_t reordered = 0;         // behind a later packet of their flow (RFC 4737)
    std::uint64_t reordered_of_all = 0;  // behind any later packet
    std::uint64_t farthest = 0;          // packets of its flow that overtook one, at most
    std::array<std::uint64_t, kChangeNames.size()> changes{};
    std::vector<std::pair<int, std::uint64_t>> ttl_steps;  // TTL at `from` minus TTL at `to`
    Nanoseconds bin = 0;                                   // length of a TimeBin
    std::vector<TimeBin> time;
    std::vector<FlowLoss> flows;  // those that lost most
    std::uint64_t all_flows = 0;
};

struct PointPair {
    std::size_t a = 0;
    std::size_t b = 0;
    ClockModel clock;
    std::uint64_t matched = 0;
    Path there;  // a to b
    Path back;
    // Seen at one point alone, between hosts that are not known to be on different sides.
    std::uint64_t only_a = 0;
    std::uint64_t only_b = 0;
    std::uint64_t only_a_flows = 0;
    std::uint64_t only_b_flows = 0;
    std::uint64_t far = 0;  // seen once at both points, further apart than the window
    std::uint64_t cut = 0;  // seen at one point alone, and captured short
};

struct Comparison {
    std::vector<Point> points;
    std::vector<PointPair> pairs;
    Nanoseconds window = 0;
    unsigned sample_bits = 0;  // 2^-bits of the packets were compared
    bool nat = false;
    bool mirror = false;
    std::vector<std::string> warnings;
    bool incomplete = false;
};

}  // namespace unecho::compare
