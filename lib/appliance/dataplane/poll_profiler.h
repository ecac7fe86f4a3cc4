// SPDX-License-Identifier: BSD-3-Clause
// Measures how a worker spends its time: how long each poll took, whether it found work, and which
// polls took so long that packets may have been lost meanwhile.
//
// A poll lasts from the reading of the clock that starts it to the next one. Nothing lies between
// two polls, so every absence of the worker or its process is seen. That reading is taken anyway.
// To time the stages within a poll takes a reading for each, which a worker at its limit cannot
// spare. Stages are therefore timed only while no queue or ring gives a full burst, and for some
// polls after a stall. The present stage is always published without a time: if a worker hangs, the
// control thread knows no more.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "appliance/dataplane/counters.h"
#include "appliance/dataplane/receive.h"
#include "appliance/dataplane/shared.h"
#include "appliance/dataplane/stall.h"
#include "appliance/dataplane/worker_parameters.h"

namespace unecho::dataplane {

struct PollProfilerSetup {
    Nanoseconds threshold = ~Nanoseconds{0};  // a longer poll is a stall
    std::span<const RxQueue> sources;         // whose fill is reported
};

class alignas(64) PollProfiler {
  public:
    // Polls with timed stages after a stall of a worker at its limit. They cost some microseconds
    // in all.
    static constexpr unsigned kCloseAfterStall = 1024;

    PollProfiler(const PollProfilerSetup& setup, const WorkerParameters& common, Counters& counters,
                 StallQueue& stalls, std::atomic<Stage>& stage) noexcept;

    // Start: time before this belongs to no poll.
    void begin(Nanoseconds now) noexcept {
        report();
        first_ = now - counters_.busy - counters_.idle;
        began_ = stamped_ = now;
    }

    void apply_config(const PollProfilerSetup& setup) noexcept;

    // Begin a poll, which ends the one before.
    void begin_poll(Nanoseconds now) noexcept {
        const Nanoseconds took = now - std::min(began_, now);  // counters of two CPUs may differ
        began_ += took;
        counters_.poll_times.add(took);
        if (took > setup_.threshold) [[unlikely]] {
            stalled(took);
        }
        stage_.store(Stage::kMaintain, std::memory_order_relaxed);
        if (!last_.more || close_polls_ != 0) [[unlikely]] {
            look_closely(took);
        }
    }

    void enter(Stage stage) noexcept {
        if (close_polls_ != 0) [[unlikely]] {
            stamp_now();
        }
        stage_.store(stage, std::memory_order_relaxed);
    }

    // Note what a poll took. The poll ends with the next begin_poll().
    void end_poll(const PollResult& taken) noexcept { last_ = taken; }

    // Update `busy` for a snapshot: all time of ended polls that was not idle.
    void report() noexcept { counters_.busy = began_ - first_ - counters_.idle; }

  private:
    // Rare paths, kept out of line for a worker at its limit.
    [[nodiscard]] std::uint32_t queued() const noexcept;
    void look_closely(Nanoseconds took) noexcept;
    void stamp_now() noexcept;
    void stamp(Nanoseconds now) noexcept;
    void stalled(Nanoseconds took) noexcept;

    // These members fill the one cache line that every poll touches.
    PollProfilerSetup setup_;
    Counters& counters_;
    std::atomic<Stage>& stage_;
    Nanoseconds began_ = 0;  // start of the present poll
    // Polls left whose stages are timed, with the present one.
    unsigned close_polls_ = 0;
    PollResult last_;

    bool reports_depth_;
    Stage longest_stage_ = Stage::kMaintain;
    const TscClock clock_;
    StallQueue& stalls_;
    Nanoseconds first_ = 0;    // start of the first poll
    Nanoseconds stamped_ = 0;  // start of the present stage
    Nanoseconds longest_ = 0;  // longest stage of the present poll
    std::uint32_t queued_before_ = Stall::kUnknown;
};

}  // namespace unecho::dataplane
