// SPDX-License-Identifier: BSD-3-Clause
// dataplane: the poll-mode worker. One lcore with its own rx queues, filters and counters. It
// shares nothing with other workers but single-producer single-consumer rings, and takes no lock.
//
// poll_once() reads as the life of a packet: dequeue what other workers steered here, receive,
// view, parse, steer, digest, decide, settle. The stages between steering and settling are in
// dedup/pipeline/stages.h. Tests and benchmarks call poll_once() without a thread.
//
// Hot: no exception, allocation, lock or log (tools/lint/check_hot_symbols). The control thread
// allocates everything beforehand. May not: include configuration, engines, or the control thread's
// code.
//
// Next: shared.h (all that workers and the control thread share), receive.h, steering/steering.h,
// filter_stage.h (filters and their time), transmit.h, counters.h.
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

// Everything a worker works with, made by the control thread before launch. While the worker runs,
// WorkerShared::setup may name another one, in which only filters, routes and their reports differ.
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

// A burst on its way through a worker. If its filter supports pipelined prefetch, the burst waits,
// digested, until the next one is digested too. Memory brings its cache lines meanwhile.
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

    void run() noexcept;

    // run() consists of these two. Time before begin() is no absence of the worker.
    void begin() noexcept;
    // Serve all sources and rings once. Return the number of packets taken.
    unsigned poll_once() noexcept;

    // Free and count the packets left in rings, backlogs and read-ahead, and take the final
    // snapshot. Call it after run() of all workers, while nobody reads snapshots.
    void settle_leftovers() noexcept;

    // Return the control thread's setup in use; null: the one that the worker began with.
    [[nodiscard]] const WorkerSetup* adopted() const noexcept { return applied_; }

    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

  private:
    // Call between two bursts.
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
    PendingBurst* next_ = flights_.data();  // receives the next burst
    PendingBurst* pending_ = nullptr;       // the other one, if it waits; null between two polls
    const WorkerSetup* applied_ = nullptr;
    bool names_ports_;  // in each mbuf: drivers need not
    const bool waits_for_room_;
    const unsigned most_at_once_;  // packets that may pass one ring in a round of all workers
};

}  // namespace unecho::dataplane
