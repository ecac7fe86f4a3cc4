// SPDX-License-Identifier: BSD-3-Clause
// The function table of a filter engine. The engine is chosen once, at start, so each burst costs
// one indirect call. Each filter of any_filter.h has a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "filters/ageing.h"
#include "filters/confidence_filter.h"
#include "filters/filter.h"
#include "filters/prepared_burst.h"
#include "filters/window/exact.h"
#include "filters/window/segmented/segment_ring.h"

namespace unecho::pipeline {

// The answer of a predecessor, which is only queried (FilterContext::before), for one digest.
struct PredecessorResult {
    std::uint64_t known_slots = 0;  // bit i: slot i of filters/first_packets.h is known
    float chance = 0;               // of a match by accident
    // The largest chance of an accident, in both filters together, with which a match is an echo.
    std::optional<float> limit = std::nullopt;
};

struct EngineOps {
    // Test and insert. Bit i of an answer: digests[i] is an echo, or an uncertain match (doubt).
    // All digests have one time, with the turns published then; engines that keep times themselves
    // ignore turns and ageing. Without limits every match is an echo; an engine without chance()
    // must be given none.
    filter::Answers (*test)(void* filter, filter::Ageing& ageing, std::span<const Digest> digests,
                            filter::TimerSnapshot published, unsigned first,
                            const filter::ChanceLimits* limits) noexcept;
    // The same in steps, for line filters; null for engines without such steps. prepare() notes a
    // burst that is tested later. prefetch_lines() prefetches the cache lines of so many more of
    // its digests. test_prepared() gets the same digests, and the burst prepared behind it or null.
    void (*prepare)(const void* filter, std::span<const Digest> digests,
                    filter::PreparedBurst& burst) noexcept = nullptr;
    void (*prefetch_lines)(const void* filter, filter::PreparedBurst& burst,
                           unsigned digests) noexcept = nullptr;
    filter::Answers (*test_prepared)(void* filter, filter::Ageing& ageing,
                                     std::span<const Digest> digests,
                                     const filter::PreparedBurst& burst,
                                     filter::TimerSnapshot published,
                                     const filter::ChanceLimits* limits,
                                     filter::PreparedBurst* next) noexcept = nullptr;
    // Like test(), with a time for each digest, as captures need. times never decrease.
    filter::Answers (*test_timed)(void* filter, filter::Ageing& ageing,
                                  std::span<const Digest> digests, const Nanoseconds* times,
                                  unsigned first, const filter::ChanceLimits* limits) noexcept;
    // Test one digest together with the predecessor's answer. A slot that the predecessor knows
    // counts as known here, and is recorded here only with policy "refresh".
    filter::Answers (*test_with_predecessor)(void* filter, filter::Ageing& ageing, Digest digest,
                                             filter::TimerSnapshot published, unsigned first,
                                             const PredecessorResult& beside) noexcept;
    // Return the known slots of a digest, as above; nothing changes.
    std::uint64_t (*known_slots)(const void* filter, Digest digest, unsigned first) noexcept;
    // Return the chance that a packet which is no echo matches now at this digest's place. Null for
    // an engine that cannot estimate it.
    float (*chance)(const void* filter, Digest digest) noexcept;
    void (*advance)(void* filter, filter::Ageing& ageing, filter::TimerSnapshot published) noexcept;
    const filter::FilterCounters& (*counters)(const void* filter) noexcept;
    // Return the achieved window at a time.
    filter::WindowState (*window)(const void* filter, const filter::Ageing& ageing,
                                  Nanoseconds now) noexcept;
    // Return how full the filter is: the load() of its fullest generation; for engines without
    // generations, the memory in use in their own unit.
    std::uint64_t (*fill)(const void* filter, const filter::Ageing& ageing) noexcept;
    // Do a bounded step of upkeep, between bursts and also without traffic. Null: none is needed.
    void (*maintain)(void* filter) noexcept;
    // For a filter that notes which points of observation showed a packet, else null. A bit of
    // points[i] for each point that shows digests[i], which was just tested. start_points(): count
    // from 0. miss_points(): packets came that were not tested. forgotten(): what was counted at
    // the ends of windows.
    void (*start_points)(void* filter) noexcept = nullptr;
    void (*note_points)(void* filter, std::span<const Digest> digests,
                        std::span<const std::uint8_t> points) noexcept = nullptr;
    void (*miss_points)(void* filter) noexcept = nullptr;
    const filter::ForgottenByPoints& (*forgotten)(const void* filter) noexcept = nullptr;
    // Return the filter's segments, for exchange with the control thread; null if it has none.
    filter::SegmentRing* (*segments)(void* filter) noexcept;
};

// Return the table of a filter. index: its place in AnyFilter (any_filter.h).
[[nodiscard]] const EngineOps& ops_at(std::size_t index) noexcept;

}  // namespace unecho::pipeline
