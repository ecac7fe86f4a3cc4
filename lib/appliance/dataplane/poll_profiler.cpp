// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/dataplane/poll_profiler.h"

#include <rte_ethdev.h>

namespace unecho::dataplane {
namespace {

bool depth_is_told(std::span<const RxQueue> sources) noexcept {
    return !sources.empty() &&
           std::all_of(sources.begin(), sources.end(), [](const RxQueue& source) {
               return rte_eth_rx_queue_count(source.port, source.queue) >= 0;
           });
}

}  // namespace

PollProfiler::PollProfiler(const PollProfilerSetup& setup, const WorkerParameters& common,
                           Counters& counters, StallQueue& stalls,
                           std::atomic<Stage>& stage) noexcept
    : setup_(setup),
      counters_(counters),
      stage_(stage),
      reports_depth_(depth_is_told(setup.sources)),
      clock_(common.clock),
      stalls_(stalls) {
    begin(clock_.now());
}

void PollProfiler::apply_config(const PollProfilerSetup& setup) noexcept {
    setup_ = setup;
    reports_depth_ = depth_is_told(setup.sources);
}

std::uint32_t PollProfiler::queued() const noexcept {
    if (!reports_depth_) {
        return Stall::kUnknown;
    }
    std::uint32_t sum = 0;
    for (const RxQueue& source : setup_.sources) {
        sum += static_cast<std::uint32_t>(
            std::max(rte_eth_rx_queue_count(source.port, source.queue), 0));
    }
    return sum;
}

// Time the stages of this poll if the last one found no full burst, or as one of the polls after a
// stall.
void PollProfiler::look_closely(Nanoseconds took) noexcept {
    if (last_.packets == 0) {
        counters_.idle += took;
    }
    close_polls_ = std::max(close_polls_, 1U) - 1;
    if (!last_.more) {
        close_polls_ = std::max(close_polls_, 1U);
    }
    stamped_ = began_;
    longest_ = 0;
    longest_stage_ = Stage::kMaintain;
    queued_before_ = close_polls_ != 0 ? queued() : Stall::kUnknown;
}

void PollProfiler::stamp_now() noexcept {
    stamp(clock_.now());
}

void PollProfiler::stamp(Nanoseconds now) noexcept {
    const Nanoseconds took = now - std::min(stamped_, now);
    if (took > longest_) {
        longest_ = took;
        longest_stage_ = stage_.load(std::memory_order_relaxed);
    }
    stamped_ = now;
}

// Report the poll that ended as a stall. If the queue to the control thread is full, the entry is
// lost, but the stall is counted.
void PollProfiler::stalled(Nanoseconds took) noexcept {
    Stall stall{began_ - took, took, last_.packets, Stall::kUnknown, queued(), Stage::kUnknown};
    if (close_polls_ != 0) {
        stamp(began_);
        stall.stage = longest_stage_;
        stall.queued_before = queued_before_;
    }
    close_polls_ = kCloseAfterStall + 1;  // look_closely() takes one off at once
    counters_.stalls++;
    stalls_.push(stall);
}

}  // namespace unecho::dataplane
