// SPDX-License-Identifier: BSD-3-Clause
// What a worker does with its time: how long each poll took, whether it found work, and which polls
// took so long that packets may have been lost meanwhile.
//
// A poll lasts from one reading of the clock, as it begins, to the next: nothing lies between two,
// so a worker that was taken off its CPU, or a process that was stopped, shows wherever it was.
// That reading is there anyway. Where in a poll the time went takes one at each stage, which a
// worker at its limit cannot spare: it looks closely while no queue or ring gives a full burst, and
// for some polls after a stall. Which stage it is in, without a time, stands for the control thread
// to see at every step: of a worker that never comes back that is all that is known.
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
    std::span<const RxQueue> sources;         // whose depth is told
};

class alignas(64) PollProfiler {
  public:
    // After a stall in a worker at its limit: to find where the next one is, at the cost of some
    // microseconds.
    static constexpr unsigned kCloseAfterStall = 1024;

    PollProfiler(const PollProfilerSetup& setup, const WorkerParameters& common, Counters& counters,
                 StallQueue& stalls, std::atomic<Stage>& stage) noexcept;

    // Nothing before this is a poll.
    void begin(Nanoseconds now) noexcept {
        report();
        first_ = now - counters_.busy - counters_.idle;
        began_ = stamped_ = now;
    }

    void apply_config(const PollProfilerSetup& setup) noexcept;

    // A poll begins, and ends the one before.
    void begin_poll(Nanoseconds now) noexcept {
        const Nanoseconds took = now - std::min(began_, now);  // CPUs' counters may differ a little
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

    // From here on the poll is in this stage.
    void enter(Stage stage) noexcept {
        if (close_polls_ != 0) [[unlikely]] {
            stamp_now();
        }
        stage_.store(stage, std::memory_order_relaxed);
    }

    // But for what lies between this poll and the next.
    void end_poll(const PollResult& taken) noexcept { last_ = taken; }

    // For a snapshot: what was not idle, of the polls that are over.
    void report() noexcept { counters_.busy = began_ - first_ - counters_.idle; }

  private:
    // Out of the way of a worker at its limit.
    [[nodiscard]] std::uint32_t queued() const noexcept;
    void look_closely(Nanoseconds took) noexcept;
    void stamp_now() noexcept;
    void stamp(Nanoseconds now) noexcept;
    void stalled(Nanoseconds took) noexcept;

    // What every poll touches, in one cache line.
    PollProfilerSetup setup_;
    Counters& counters_;
    std::atomic<Stage>& stage_;
    Nanoseconds began_ = 0;  // the present poll
    // Polls whose stages are timed, with the present one.
    unsigned close_polls_ = 0;
    PollResult last_;  // of the last poll

    bool depth_is_told_;
    Stage longest_stage_ = Stage::kMaintain;
    const TscClock clock_;
    StallQueue& stalls_;
    Nanoseconds first_ = 0;    // when the first poll began
    Nanoseconds stamped_ = 0;  // when the present stage began
    Nanoseconds longest_ = 0;  // of a stage in the present poll
    std::uint32_t queued_before_ = Stall::kUnknown;
};

}  // namespace unecho::dataplane
