// SPDX-License-Identifier: BSD-3-Clause
// Plans one instance of a filter from its spec: engine, geometry, ageing, confidence policy and
// memory. The appliance, captures and tests all use this one function.
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
    std::string rule_text;                       // for people
    std::optional<double> bound = std::nullopt;  // on false drops, as requested
    Nanoseconds window = 0;
    Geometry geometry;              // of one worker's instance
    filter::GenerationClock clock;  // of one generation, or tick (sizing::Prediction::phases);
                                    // unused by engines that keep times
    std::optional<OnFull> on_full = std::nullopt;      // absent: as the engine does anyway
    std::optional<std::uint64_t> load = std::nullopt;  // keys that end a generation, or tick
    std::uint64_t planned_fill = 0;    // of an instance, at most (dedup/engines/catalogue.h)
    bool may_clear = false;            // an early turn may clear segments: captures can wait
    sizing::Prediction prediction;     // of one instance at its planned rate
    double keys_per_second = 0;        // planned for one instance
    unsigned keys_per_packet = 1;      // at most, if keys_per_second was planned from packets
    std::uint64_t engine_bytes = 0;    // the filter's part of instance_bytes, with spare segments
    std::uint64_t instance_bytes = 0;  // allocated: the filter and the union rule, if any
    std::optional<filter::UnionParams> repeats = std::nullopt;  // absent: repeats are dropped
    // Prepare bursts before they are decided (pipeline::prepare). Only for filters that exceed a
    // core's cache: within it, that costs more than it gains.
    bool pipelined_prefetch = false;
    filter::Isa isa = filter::Isa::kScalar;
    std::string choice;  // why "auto" chose this engine

    [[nodiscard]] const EngineInfo& engine() const { return info_of(engine_of(geometry)); }
    [[nodiscard]] FilterSetup setup() const { return {geometry, window, echo_policy(policy), isa}; }
    [[nodiscard]] filter::AgeingSpec ageing_spec() const {
        filter::AgeingSpec spec = ageing_of(setup(), clock.length, load);
        spec.may_clear = may_clear;
        return spec;
    }
    [[nodiscard]] filter::Ageing ageing() const { return filter::Ageing(ageing_spec()); }
};

// Return the key, with defaults for what the spec leaves open. The spec must have no problems.
[[nodiscard]] packet::KeySpec key_of(const FilterSpec& spec);

// How an instance is placed.
struct Placement {
    unsigned instances = 1;  // that share the spec's rate and memory
    bool may_clear = false;  // FilterPlan::may_clear
    filter::Isa isa = filter::Isa::kScalar;
    std::uint64_t core_cache = 0;  // bytes of a core's own cache; 0: not known
};

// Return the bytes of a core's L2 cache on this machine, or 0.
[[nodiscard]] std::uint64_t core_cache();

// Return the share of the total plan that one of several instances must be ready for.
[[nodiscard]] double share_of(unsigned instances);

// Plan a filter. Errc::kInvalidArgument, kConfig: no engine or geometry can do that; the text says
// what is allowed.
Result<FilterPlan> plan_filter(const FilterSpec& spec, const Placement& placement);

// The same with a candidate that was chosen beforehand.
Result<FilterPlan> plan_filter(const FilterSpec& spec, const Placement& placement,
                               const Candidate& chosen);

}  // namespace unecho::engines
