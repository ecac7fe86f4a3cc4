// SPDX-License-Identifier: BSD-3-Clause
// The tap report (which flows two taps saw) on one worker, with its memory.
#pragma once

#include <utility>

#include "appliance/plan/plan.h"
#include "appliance/plan/worker_memory.h"
#include "base/result.h"
#include "filters/tap_report.h"

namespace unecho::appliance {

Result<std::uint64_t> bytes_of(const TapPlan& plan);
Result<filter::ShbfAParams> params_of(const TapPlan& plan);

class WorkerTaps {
  public:
    // memory: plan.instance_bytes.
    WorkerTaps(WorkerMemory memory, const filter::ShbfAParams& params, Nanoseconds window)
        : memory_(std::move(memory)),
          report_(params, window, memory_.bytes(), memory_.contents()) {}

    [[nodiscard]] filter::TapReport& report() { return report_; }
    void keep(bool on) noexcept { memory_.keep(on); }
    [[nodiscard]] std::uint64_t page_bytes() const { return memory_.page_bytes(); }
    [[nodiscard]] std::span<std::byte> memory() const { return memory_.bytes(); }

  private:
    WorkerMemory memory_;
    filter::TapReport report_;
};

}  // namespace unecho::appliance
