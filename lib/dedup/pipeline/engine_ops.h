// SPDX-License-Identifier: BSD-3-Clause
// A filter behind one function table: the engine is chosen once, at start; each burst costs one
// indirect call. The filters that have a table are named in engine_ops.cpp; what else a new engine
// is, dedup/engines/catalogue.h says.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "filters/ageing.h"
#include "filters/confidence_filter.h"
#include "filters/filter.h"
#include "filters/prepared_burst.h"
#include "filters/window/segment_ring.h"

namespace unecho::pipeline {

// What another filter says of a digest, one that is only asked (FilterContext::before).
struct PredecessorResult {
    std::uint64_t known_slots =
        0;             // bit i: of the slots of filters/first_packets.h the i-th is there
    float chance = 0;  // of an accident there
    // The most with which a match is an echo; of both filters together.
    std::optional<float> limit = std::nullopt;
};

struct EngineOps {
    // Bit i: digests[i] is an echo, or a doubt. All of them are tested at one time, with the turns
    // that were published there; engines that keep times themselves leave these and ageing alone.
    // Without limits, as an engine without chance() must be asked, every match is an echo.
    filter::Answers (*test)(void* filter, filter::Ageing& ageing, std::span<const Digest> digests,
                            filter::TimerSnapshot published, unsigned first,
                            const filter::ChanceLimits* limits) noexcept;
    // The same in steps, as filters of lines have them: what prepare() was told of is tested later,
    // and memory is asked for it meanwhile, of so many digests more at a time. test_prepared() is
    // told the same digests, and what is prepared behind them, or null. All three are null for an
    // engine that has no such steps.
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
    // test() with a time for each digest, as captures have it. times never decrease.
    filter::Answers (*test_timed)(void* filter, filter::Ageing& ageing,
                                  std::span<const Digest> digests, const Nanoseconds* times,
                                  unsigned first, const filter::ChanceLimits* limits) noexcept;
    // Of one digest, with what another filter says of it: a slot that is there counts as if it were
    // here, and is recorded here only where echoes refresh.
    filter::Answers (*test_with_predecessor)(void* filter, filter::Ageing& ageing, Digest digest,
                                             filter::TimerSnapshot published, unsigned first,
                                             const PredecessorResult& beside) noexcept;
    // What it holds of a digest, as above; nothing changes.
    std::uint64_t (*known_slots)(const void* filter, Digest digest, unsigned first) noexcept;
    // The chance that a packet which is no echo matches now where this digest lies; null for an
    // engine that cannot judge.
    float (*chance)(const void* filter, Digest digest) noexcept;
    void (*advance)(void* filter, filter::Ageing& ageing, filter::TimerSnapshot published) noexcept;
    const filter::FilterCounters& (*counters)(const void* filter) noexcept;
    // What it has kept of its window, at a time.
    filter::WindowState (*window)(const void* filter, const filter::Ageing& ageing,
                                  Nanoseconds now) noexcept;
    // How much it holds: what the fullest of its generations took, as its load() counts; of engines
    // without generations what they have in use of their memory, in their own unit.
    std::uint64_t (*fill)(const void* filter, const filter::Ageing& ageing) noexcept;
    // A bounded step of what the filter keeps doing between bursts, also when none come; null if
    // there is nothing.
    void (*maintain)(void* filter) noexcept;
    // The filter's segments, for exchange with the control thread; null if it has none.
    filter::SegmentRing* (*segments)(void* filter) noexcept;
};

// The table of a filter; engine_ops.cpp lists those that have one.
template <filter::SlidingFilter F>
[[nodiscard]] const EngineOps& ops_for() noexcept;

}  // namespace unecho::pipeline
