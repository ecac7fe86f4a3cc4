// SPDX-License-Identifier: BSD-3-Clause
// What each engine would need for given targets, best first: the answer of `unecho size`. Engines
// that are for the first packets of a flow alone are left out where each packet counts.
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
    std::optional<std::uint64_t> memory;  // at most, in bytes, spare segments too
    bool bounded = true;  // packet by packet, by the engines that can judge: rule "bound"
    bool shrinks = true;  // on_full = "shrink": generations have room for random arrivals
    unsigned first = 1;   // packets of a flow that pass per window, 1 to 64
    // Where repeats are kept: the share of packets without an ID. Absent: no memory is for them.
    std::optional<double> unidentified = std::nullopt;
};

// Those among which "auto" chooses: no other is ever faster within its memory range.
constexpr bool is_chosen(const EngineInfo& info) {
    return info.chosen;
}
inline constexpr auto kAutoEngines = kEnginesThat<is_chosen>;

// Of these, those that judge: one takes over where the exact engine is full.
constexpr bool takes_over(const EngineInfo& info) {
    return info.chosen && info.estimates_chance;
}
inline constexpr auto kTakeOverEngines = kEnginesThat<takes_over>;

struct Candidate {
    Geometry geometry;
    double rate = 0;
    sizing::Prediction prediction;
    std::uint64_t bytes = 0;          // allocated, spare segments too
    std::uint64_t repeats_bytes = 0;  // for packets without an ID, beside it
    double packet_ns = 0;             // that a new packet takes in the filter, about
    double lines = 0;                 // cache lines of a new packet
    bool fits = true;                 // both into the memory given

    [[nodiscard]] std::uint64_t all_bytes() const { return bytes + repeats_bytes; }
};

struct Candidates {
    SizingRequest question;
    std::vector<Candidate> list;       // best first
    std::vector<std::string> refused;  // engines that cannot, with the reason
    std::string reason;                // why the first is first
};

// The union rule's table for so many packets per second on one worker.
Result<filter::UnionParams> size_repeats(filter::UnionSpec spec, double rate, double unidentified);

// Errc::kConfig if neither rate nor memory is given, or no engine can.
Result<Candidates> find_candidates(const SizingRequest& question);
// Of these engines only.
Result<Candidates> find_candidates(const SizingRequest& question, std::span<const Engine> engines);

std::string to_text(const Candidates& candidates);
nlohmann::ordered_json to_json(const Candidates& candidates);

}  // namespace unecho::engines
