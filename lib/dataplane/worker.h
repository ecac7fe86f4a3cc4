// SPDX-License-Identifier: BSD-3-Clause
// A poll-mode worker: one lcore, its rx queues, its filters, its counters. It shares nothing with
// other workers but single-producer single-consumer rings, and takes no lock.
//
// poll_once() is the life of a packet: receive, view, parse, steer, digest, decide, settle. Each
// has a part of its own here; the stages between steering and settling are those of
// pipeline/stages.h. Tests and benchmarks call it without a thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "dataplane/common.h"
#include "dataplane/lanes.h"
#include "dataplane/poll_watch.h"
#include "dataplane/receive.h"
#include "dataplane/receive_merged.h"
#include "dataplane/reporting.h"
#include "dataplane/shared.h"
#include "dataplane/steering.h"
#include "dataplane/transmit.h"

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
    WorkerCommon common;
    ReceiveSetup receive;
    MergeSetup merge;  // capture clock only
    SteeringSetup steering;
    LanesSetup lanes;
    TransmitSetup transmit;
    ReportSetup report;
    WatchSetup watch;
    std::array<RouteContext, kMaxRoutes> routes{};
    std::span<std::uint8_t> scratch;  // kScratchBytes
};

// A burst on its way through a worker. Where its filter can be told of it before, it waits,
// digested, until the one behind it is digested too, so that memory brings its lines meanwhile.
struct Flight {
    Burst burst;
    pipeline::Ahead ahead;
    Lanes::Receipt receipt;
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
    [[nodiscard]] const WorkerSetup* adopted() const noexcept { return adopted_; }

    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

  private:
    // Between two bursts.
    void look_for_setup() noexcept {
        const WorkerSetup* const wanted = shared_.setup.load(std::memory_order_acquire);
        if (wanted != adopted_) [[unlikely]] {
            finish_waiting();
            adopt(*wanted);
        }
    }
    void adopt(const WorkerSetup& setup) noexcept;

    void begin_poll() noexcept;
    Taken receive(bool refill) noexcept;
    Taken receive_live(bool refill) noexcept;
    Taken receive_merged(bool refill) noexcept;
    Taken take_steered() noexcept;
    [[nodiscard]] bool has_room() const noexcept;

    // Whose packets these are.
    [[nodiscard]] const pipeline::Lane& lane_of(const Burst& burst) const noexcept {
        return lanes_[routes_[burst.route].filter];
    }

    template <typename Each>
    void view(Burst& burst, Each each) noexcept;
    unsigned pass_on(Burst& burst, const RxSource& source, HeldBack* held_back) noexcept;
    void parse(Burst& burst) noexcept;
    void filter_burst(Burst& burst) noexcept;
    void digest(Burst& burst) noexcept;
    [[nodiscard]] bool may_wait(const Burst& burst) const noexcept;
    void request_lines() noexcept;
    void finish(Flight& flight, Flight* next) noexcept;
    void finish_waiting() noexcept {
        if (waiting_ != nullptr) {
            finish(*waiting_, nullptr);
            waiting_ = nullptr;
        }
    }
    void settle(Burst& burst) noexcept;
    void deliver_all(Burst& burst, std::span<const pipeline::Outcome> outcomes) noexcept;
    void send_unfiltered(Burst& burst) noexcept;

    const WorkerCommon common_;
    std::array<RouteContext, kMaxRoutes> routes_;
    const std::span<std::uint8_t> scratch_;
    WorkerShared& shared_;
    Counters counters_;
    LiveReceiver live_;
    MergedReceiver merged_;
    Steering steering_;
    Lanes lanes_;
    Transmitter transmitter_;
    PollWatch watch_;
    Reporter reporter_;
    std::array<Flight, 2> flights_;
    Flight* coming_ = flights_.data();  // for the next burst
    Flight* waiting_ = nullptr;         // the other one, or none; none between two polls
    const WorkerSetup* adopted_ = nullptr;
    bool names_ports_;  // in packets
    const bool waits_for_room_;
    const unsigned most_at_once_;  // packets that may go through one ring in a round of all workers
};

}  // namespace unecho::dataplane
