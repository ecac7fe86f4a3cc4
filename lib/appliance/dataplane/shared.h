// SPDX-License-Identifier: BSD-3-Clause
// The whole contract between the control thread (cp) and the workers (dp, data plane). Each field
// names its only writer (rw) and its readers (ro). No worker ever waits.
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
    kDraining,  // nothing more is received; packets between workers are delivered
    kStopped,   // workers return
};

// One for each filter; read by all workers.
struct alignas(64) FilterShared {
    // Turns that the rotation timer has published so far. A worker takes each one once its own
    // generation has had its full length (filters/ageing.h).
    std::atomic<std::uint64_t> turns{0};  // dp: ro, cp: rw
};

// One for each pair of worker and filter.
struct WorkerFilterShared {
    static constexpr unsigned kSegments = 256;
    SpscQueue<std::uint16_t, kSegments> retired;  // dp: push, cp: pop
    SpscQueue<std::uint16_t, kSegments> zeroed;   // dp: pop, cp: push
    // Generations that ended early. If there are any, the control thread returns segments sooner.
    std::atomic<std::uint64_t> early_turns{0};  // dp: rw, cp: ro
};

// Stalls of one worker. The control thread reads them every few milliseconds. Entries that find the
// queue full are lost, but counted.
using StallQueue = SpscQueue<Stall, 64>;

// One for each worker. Counters are copied out on request only, so the packet path pays one load.
struct alignas(64) WorkerShared {
    std::atomic<Phase> phase{Phase::kRunning};      // dp: ro, cp: rw
    std::atomic<std::uint64_t> snapshot_wanted{0};  // dp: ro, cp: rw
    // The setup to use from the next round on; null: the one that the worker began with. A setup
    // stays allocated until another one was published and adopted (docs/decisions/0010-reload.md).
    std::atomic<const WorkerSetup*> setup{nullptr};  // dp: ro, cp: rw

    alignas(64) std::atomic<std::uint64_t> snapshot_taken{0};   // dp: rw, cp: ro
    std::atomic<std::uint64_t> heartbeat{0};                    // dp: rw, cp: ro; counts polls
    std::atomic<std::uint64_t> busy{0};                         // dp: rw, cp: ro; busy polls
    std::atomic<Stage> stage{Stage::kReport};                   // dp: rw, cp: ro; of this poll
    std::atomic<const WorkerSetup*> adopted{nullptr};           // dp: rw, cp: ro
    std::atomic<Nanoseconds> time{0};                           // dp: rw, cp: ro; stall-tolerant
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
