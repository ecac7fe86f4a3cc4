// SPDX-License-Identifier: BSD-3-Clause
// Detects that the system's clock was set, by comparison with a clock that is never set. Readers of
// event times must know of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"

namespace unecho::appliance {

class ClockStepDetector {
  public:
    // Slewing stays far below this between two samples.
    static constexpr Nanoseconds kStep = 100 * kMillisecond;

    // Compare the system's clock, read between two readings of the workers' clock. Return a line to
    // log if the system's clock was set.
    std::optional<std::string> sample(Nanoseconds before, std::uint64_t unix_ns,
                                      Nanoseconds after) {
        if (after - before > kReading) {
            return std::nullopt;  // this thread was preempted between the readings
        }
        const std::uint64_t offset = unix_ns - before;
        const std::uint64_t last = offset_.value_or(offset);
        offset_ = offset;
        const std::uint64_t step = std::max(offset, last) - std::min(offset, last);
        if (step <= kStep) {
            return std::nullopt;
        }
        return "the system's clock was set " + std::string(offset > last ? "forward" : "back") +
               " by " + format_duration(step);
    }

  private:
    static constexpr Nanoseconds kReading = kMillisecond;

    std::optional<std::uint64_t> offset_;
};

}  // namespace unecho::appliance
