// SPDX-License-Identifier: BSD-3-Clause
// The report of two taps on one worker, with its memory.
#pragma once

#include <memory>

#include "base/result.h"
#include "control/plan.h"
#include "eal/huge_memory.h"
#include "filter/tap_report.h"

namespace unecho::control {

// What they need on one worker.
Result<std::uint64_t> bytes_of(const TapPlan& plan);

class WorkerTaps {
  public:
    // Of plan.instance_bytes. socket: where its memory should be; -1 for any.
    static Result<std::unique_ptr<WorkerTaps>> make(const TapPlan& plan, int socket,
                                                    bool has_hugepages);

    [[nodiscard]] filter::TapReport& report() { return report_; }
    [[nodiscard]] std::uint64_t page_bytes() const { return memory_.page_bytes(); }
    [[nodiscard]] std::span<std::byte> memory() const { return memory_.bytes(); }

  private:
    WorkerTaps(eal::HugeMemory memory, const filter::ShbfAParams& params, Nanoseconds window)
        : memory_(std::move(memory)), report_(params, window, memory_.bytes()) {}

    eal::HugeMemory memory_;
    filter::TapReport report_;
};

}  // namespace unecho::control
