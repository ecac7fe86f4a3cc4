// SPDX-License-Identifier: BSD-3-Clause
// The geometries and costs of all engines for given targets, best first: the answer of `unecho
// size`. Engines that are only for the first packets of a flow are left out where each packet
// counts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "base/units.h"
#include "dedup/engines/catalogue.h"
#include "filters/repeats/union_rule.h"

namespace unecho::engines {

struct SizingRequest {
    Nanoseconds window = 0;
    double max_false_drop = kDefaultFalseDrop;
    std::optional<double> rate;  // packets per second; absent: the highest that fits memory
    std::optional<std::uint64_t> memory;  // at most, in bytes, with spare segments
    bool bounded = true;                  // rule "bound", for engines that estimate chances
    bool shrinks = true;  // on_full = "shrink": generations have room for random arrivals
    unsigned first = 1;   // packets of a flow that pass per window, 1 to 64
    // The share of packets without an ID, if repeats are kept. Absent: no memory is for them.
    std::optional<double> unidentified = std::nullopt;
};

// The engines that "auto" chooses from: no other is ever faster within its memory range.
constexpr bool is_chosen(const EngineInfo& info) {
    return info.chosen;
}
inline constexpr auto kAutoEngines = kEnginesThat<is_chosen>;

// The chosen engines that estimate chances: one takes over when the exact engine is full.
constexpr bool takes_over(const EngineInfo& info) {
    return info.chosen && info.estimates_chance;
}
inline constexpr auto kTakeOverEngines = kEnginesThat<takes_over>;

struct Candidate {
    Geometry geometry;
    double rate = 0;
    sizing::Prediction prediction;
    std::uint64_t bytes = 0;          // allocated, with spare segments
    std::uint64_t repeats_bytes = 0;  // in addition, for packets without an ID
    double packet_ns = 0;             // estimated time of a new packet in the filter
    double lines = 0;                 // cache lines of a new packet
    bool fits = true;                 // all_bytes() is within the given memory

    [[nodiscard]] std::uint64_t all_bytes() const { return bytes + repeats_bytes; }
};

struct Candidates {
    SizingRequest question;
    std::vector<Candidate> list;       // best first
    std::vector<std::string> refused;  // engines that cannot meet the targets, with the reason
    std::string reason;                // why the first one is first
};

// Return the union rule's parameters for so many packets per second on one worker.
Result<filter::UnionParams> size_repeats(filter::UnionSpec spec, double rate, double unidentified);

// Return all candidates. Errc::kConfig: neither rate nor memory is given, or no engine can do it.
Result<Candidates> find_candidates(const SizingRequest& question);
Result<Candidates> find_candidates(const SizingRequest& question, std::span<const Engine> engines);

std::string to_text(const Candidates& candidates);
nlohmann::ordered_json to_json(const Candidates& candidates);

}  // namespace unecho::engines
