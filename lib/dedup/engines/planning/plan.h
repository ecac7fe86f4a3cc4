// SPDX-License-Identifier: BSD-3-Clause
// From a filter as it is asked for to one instance of it: which engine, which geometry, how it
// ages, what it judges by, how much memory. One function for everybody: the appliance, captures,
// tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "dedup/engines/catalogue.h"
#include "dedup/engines/planning/candidates.h"
#include "dedup/engines/spec.h"
#include "dedup/pipeline/confidence_policy.h"
#include "filters/ageing.h"
#include "filters/generation.h"
#include "filters/repeats/union_rule.h"
#include "packets/keys/key_spec.h"

namespace unecho::engines {

struct FilterPlan {
    std::string name;
    packet::KeySpec key = {};
    Policy policy = Policy::kFixed;
    unsigned first = 1;
    Rule rule = Rule::kMatch;
    std::optional<pipeline::ConfidencePolicy> confidence =
        std::nullopt;                            // absent: every match is an echo
    std::string rule_text;                       // the rule for people
    std::optional<double> bound = std::nullopt;  // on false drops, as asked for
    Nanoseconds window = 0;
    Geometry geometry;              // of one worker's instance
    filter::GenerationClock clock;  // of one generation, or tick (sizing::Prediction::phases);
                                    // unused by engines that keep times
    std::optional<OnFull> on_full = std::nullopt;      // absent: as the engine does anyway
    std::optional<std::uint64_t> load = std::nullopt;  // keys that end a generation, or tick
    std::uint64_t planned_fill = 0;    // of an instance, at most (dedup/engines/catalogue.h)
    bool may_clear = false;            // an early turn may clear segments: captures wait
    sizing::Prediction prediction;     // of one instance at its planned rate
    double keys_per_second = 0;        // planned for one instance
    unsigned keys_per_packet = 1;      // at most, where keys_per_second is of packets planned for
    std::uint64_t engine_bytes = 0;    // of it the filter's, with spare segments
    std::uint64_t instance_bytes = 0;  // allocated: the filter's, and where repeats are kept theirs
    std::optional<filter::UnionParams> repeats = std::nullopt;  // absent: repeats are dropped
    // Bursts are told to it before they are decided (pipeline::prepare): a core's cache does not
    // hold it. In a cache that costs more than it gains.
    bool pipelined_prefetch = false;
    filter::Isa isa = filter::Isa::kScalar;
    std::string choice;  // why this engine, if it was "auto"

    [[nodiscard]] const EngineInfo& engine() const { return info_of(engine_of(geometry)); }
    [[nodiscard]] FilterSetup setup() const { return {geometry, window, echo_policy(policy), isa}; }
    [[nodiscard]] filter::AgeingSpec ageing_spec() const {
        filter::AgeingSpec spec = ageing_of(setup(), clock.length, load);
        spec.may_clear = may_clear;
        return spec;
    }
    [[nodiscard]] filter::Ageing ageing() const { return filter::Ageing(ageing_spec()); }
};

// What is the same, with the defaults of what was not asked for. The spec has no problems.
[[nodiscard]] packet::KeySpec key_of(const FilterSpec& spec);

// Where and beside what the instance stands.
struct Placement {
    unsigned instances = 1;  // that share rate and memory of the spec
    bool may_clear = false;  // FilterPlan::may_clear
    filter::Isa isa = filter::Isa::kScalar;
    std::uint64_t core_cache = 0;  // bytes of a core's own cache; 0: not known
};

// Of this machine: bytes of a core's L2 cache, or 0.
[[nodiscard]] std::uint64_t core_cache();

// One of several instances must be ready for so much of what is planned for all of them together.
[[nodiscard]] double share_of(unsigned instances);

// Errc::kInvalidArgument, kConfig: no engine or geometry can do that; says what is allowed.
Result<FilterPlan> plan_filter(const FilterSpec& spec, const Placement& placement);

// The same with what was chosen for it beforehand.
Result<FilterPlan> plan_filter(const FilterSpec& spec, const Placement& placement,
                               const Candidate& chosen);

}  // namespace unecho::engines
