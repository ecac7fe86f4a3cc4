// SPDX-License-Identifier: BSD-3-Clause
// A poll-mode worker: one lcore, its rx queues, its filters, its counters. It shares nothing with
// other workers but single-producer single-consumer rings, and takes no lock.
//
// poll_once() is the life of a packet: receive, view, parse, steer, digest, decide, settle. Each
// has a part of its own here; the stages between steering and settling are those of
// dedup/pipeline/stages.h. Tests and benchmarks call it without a thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "appliance/dataplane/filter_stage.h"
#include "appliance/dataplane/poll_profiler.h"
#include "appliance/dataplane/receive.h"
#include "appliance/dataplane/receive_merged.h"
#include "appliance/dataplane/reporter.h"
#include "appliance/dataplane/shared.h"
#include "appliance/dataplane/steering/steering.h"
#include "appliance/dataplane/transmit.h"
#include "appliance/dataplane/worker_parameters.h"
#include "base/ids.h"

namespace unecho::dataplane {

struct RouteContext {
    FilterIndex filter = 0;
    PortIndex to = 0;
    PortIndex divert_to = 0;
    pipeline::EchoAction on_echo = pipeline::EchoAction::kDrop;
};

// Everything a worker works with, made by the control thread: what each of its parts needs. One is
// there before launch; while the worker runs it may be handed another one (WorkerShared::setup), in
// which filters, routes and what is told of them may differ, and nothing else: adopt() says what.
struct WorkerSetup {
    WorkerParameters common;
    ReceiveSetup receive;
    MergeSetup merge;  // capture clock only
    SteeringSetup steering;
    FilterStageSetup filters;
    TransmitSetup transmit;
    ReportSetup report;
    PollProfilerSetup profiler;
    std::array<RouteContext, kMaxRoutes> routes{};
    std::span<std::uint8_t> scratch;  // kScratchBytes
};

// A burst on its way through a worker. Where its filter can be told of it before, it waits,
// digested, until the one behind it is digested too, so that memory brings its lines meanwhile.
struct PendingBurst {
    Burst burst;
    pipeline::PrefetchedBurst prefetched;
    FilterStage::ArrivalTime arrival_time;
};

class Worker {
  public:
    explicit Worker(const WorkerSetup& setup) noexcept;
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    Worker(Worker&&) = delete;
    Worker& operator=(Worker&&) = delete;
    ~Worker() = default;

    // Until the control thread says stop.
    void run() noexcept;

    // The two of which run() is made. Time before begin() is not one that it was away in.
    void begin() noexcept;
    // One round over all sources and rings; the packets taken.
    unsigned poll_once() noexcept;

    // After run() of all workers, while nobody reads snapshots: frees and counts what is left in
    // rings, held back or read ahead, and leaves the final snapshot unasked.
    void settle_leftovers() noexcept;

    // Of the control thread's setups that with which it works; null: that with which it began.
    [[nodiscard]] const WorkerSetup* adopted() const noexcept { return applied_; }

    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

  private:
    // Between two bursts.
    void look_for_setup() noexcept {
        const WorkerSetup* const wanted = shared_.setup.load(std::memory_order_acquire);
        if (wanted != applied_) [[unlikely]] {
            finish_pending();
            apply_config(*wanted);
        }
    }
    void apply_config(const WorkerSetup& setup) noexcept;

    void begin_poll() noexcept;
    PollResult receive(bool refill) noexcept;
    PollResult receive_live(bool refill) noexcept;
    PollResult receive_merged(bool refill) noexcept;
    PollResult take_steered() noexcept;
    [[nodiscard]] bool has_room() const noexcept;

    // Whose packets these are.
    [[nodiscard]] const pipeline::FilterContext& context_of(const Burst& burst) const noexcept {
        return filters_[routes_[burst.route].filter];
    }

    template <typename Each>
    void view(Burst& burst, Each each) noexcept;
    unsigned process_rx_burst(Burst& burst, const RxQueue& source, Backlog* backlog) noexcept;
    void parse(Burst& burst) noexcept;
    void filter_burst(Burst& burst) noexcept;
    void digest(Burst& burst) noexcept;
    [[nodiscard]] bool may_wait(const Burst& burst) const noexcept;
    void prefetch_pending() noexcept;
    void finish(PendingBurst& flight, PendingBurst* next) noexcept;
    void finish_pending() noexcept {
        if (pending_ != nullptr) {
            finish(*pending_, nullptr);
            pending_ = nullptr;
        }
    }
    void settle(Burst& burst) noexcept;
    void deliver_all(Burst& burst, std::span<const pipeline::ReasonMask> outcomes) noexcept;
    void send_unfiltered(Burst& burst) noexcept;

    const WorkerParameters common_;
    std::array<RouteContext, kMaxRoutes> routes_;
    const std::span<std::uint8_t> scratch_;
    WorkerShared& shared_;
    Counters counters_;
    LiveReceiver live_;
    MergedReceiver merged_;
    FlowSteering steering_;
    FilterStage filters_;
    Transmitter transmitter_;
    PollProfiler profiler_;
    Reporter reporter_;
    std::array<PendingBurst, 2> flights_;
    PendingBurst* next_ = flights_.data();  // for the next burst
    PendingBurst* pending_ = nullptr;       // the other one, or none; none between two polls
    const WorkerSetup* applied_ = nullptr;
    bool names_ports_;  // in packets
    const bool waits_for_room_;
    const unsigned most_at_once_;  // packets that may go through one ring in a round of all workers
};

}  // namespace unecho::dataplane
