// SPDX-License-Identifier: BSD-3-Clause
// The whole contract between the control thread (cp) and the workers (dp). Every field names who
// writes it; nothing else is shared, nothing here is written by both, and no worker ever waits.
#pragma once

#include <atomic>
#include <cstdint>

#include "appliance/dataplane/counters.h"
#include "appliance/dataplane/spsc_queue.h"
#include "appliance/dataplane/stall.h"
#include "base/ids.h"
#include "dedup/pipeline/audit.h"
#include "filters/achieved_window.h"
#include "filters/filter.h"
#include "filters/repeats/union_rule.h"
#include "filters/tap_report.h"

namespace unecho::dataplane {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

struct WorkerSetup;  // appliance/dataplane/worker.h

enum class Phase : std::uint32_t {
    kRunning,
    kDraining,  // nothing more is received; what is between workers goes on its way
    kStopped,   // workers return
};

// One for each filter, read by all workers.
struct alignas(64) FilterShared {
    // TimerSnapshot by the rotation timer so far. A worker adopts them, each once its own
    // generation has had its length (filters/ageing.h).
    std::atomic<std::uint64_t> turns{0};  // dp: ro, cp: rw
};

// One for each pair of worker and filter.
struct WorkerFilterShared {
    static constexpr unsigned kSegments = 256;
    SpscQueue<std::uint16_t, kSegments> retired;  // dp: push, cp: pop
    SpscQueue<std::uint16_t, kSegments> zeroed;   // dp: pop, cp: push
    // Generations that ended early: while they do, segments are wanted back sooner.
    std::atomic<std::uint64_t> early_turns{0};  // dp: rw, cp: ro
};

// Of one worker. The control thread looks every few milliseconds; entries that find no room are not
// told, but counted.
using StallQueue = SpscQueue<Stall, 64>;

// One for each worker. Counters are copied out on request only: the packet path pays one load.
struct alignas(64) WorkerShared {
    std::atomic<Phase> phase{Phase::kRunning};      // dp: ro, cp: rw
    std::atomic<std::uint64_t> snapshot_wanted{0};  // dp: ro, cp: rw
    // What the worker is to work with from its next round on; null: what it began with. It stays
    // where it is until another one was published and adopted (docs/decisions/0010-reload.md).
    std::atomic<const WorkerSetup*> setup{nullptr};  // dp: ro, cp: rw

    alignas(64) std::atomic<std::uint64_t> snapshot_taken{0};   // dp: rw, cp: ro
    std::atomic<std::uint64_t> heartbeat{0};                    // dp: rw, cp: ro; counts polls
    std::atomic<std::uint64_t> busy{0};                         // dp: rw, cp: ro; that took packets
    std::atomic<Stage> stage{Stage::kReport};                   // dp: rw, cp: ro; where it is
    std::atomic<const WorkerSetup*> adopted{nullptr};           // dp: rw, cp: ro
    std::atomic<Nanoseconds> time{0};                           // dp: rw, cp: ro; that it judges by
    StallQueue stalls;                                          // dp: push, cp: pop
    Counters snapshot;                                          // dp: rw, cp: ro when taken
    std::array<filter::FilterCounters, kMaxFilters> filters{};  // dp: rw, cp: ro when taken
    std::array<filter::WindowState, kMaxFilters> windows{};     // dp: rw, cp: ro when taken
    std::array<filter::RepeatCounters, kMaxFilters> repeats{};  // dp: rw, cp: ro when taken
    std::array<std::uint64_t, kMaxFilters> fills{};             // dp: rw, cp: ro when taken
    std::array<filter::TapSummary, kMaxRoutes> taps{};          // dp: rw, cp: ro when taken
    std::array<pipeline::AuditTotals, kMaxFilters> audits{};    // dp: rw, cp: ro when taken
    pipeline::PortPairMatrix crossings{};                       // dp: rw, cp: ro when taken
    pipeline::PortPairMatrix answers{};                         // dp: rw, cp: ro when taken
};

}  // namespace unecho::dataplane
