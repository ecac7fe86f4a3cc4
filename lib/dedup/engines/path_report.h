// SPDX-License-Identifier: BSD-3-Clause
// The results of a path table for one ordered pair of points: the share of packets that never came,
// with an exact interval, delays, order and changes. Plain data, and its forms as JSON and text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/units.h"
#include "dedup/pipeline/paths/totals.h"
#include "filters/sizing/binomial.h"

namespace unecho::engines {

// The counts of a path table in one direction, all workers together.
struct PathFacts {
    std::string filter;
    std::string from;
    std::string to;
    bool stated = false;  // else the direction was found
    bool all = false;     // losses are of all packets, not of the sample
    pipeline::PathCount count;
    pipeline::PathSampleCounters sample;  // of all pairs of the filter
    Nanoseconds window = 0;
    std::optional<double> max_loss;
    std::optional<Nanoseconds> max_delay;
    // At the port of `to`: packets that came in, and that its device and driver lost.
    std::uint64_t received = 0;
    std::uint64_t lost_here = 0;
};

struct PathReport {
    PathFacts facts;
    std::uint64_t missing = 0;
    std::uint64_t judged = 0;
    std::uint64_t unannounced = 0;
    // Of what is missing. Its lower end leaves out what the device at `to` may have lost itself.
    sizing::Interval loss;
    double lost_here_share = 0;
};

PathReport path_report(PathFacts facts);

nlohmann::ordered_json to_json(const PathReport& report);

// Return lines for people, indented by two; empty if no packet came from one to the other.
std::string to_text(const PathReport& report);

}  // namespace unecho::engines
