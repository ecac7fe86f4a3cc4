// SPDX-License-Identifier: BSD-3-Clause
// Whether the system's clock was set, which whoever reads the times of events must know: seen
// beside a clock that nobody sets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"

namespace unecho::control {

class ClockStepDetector {
  public:
    // Slewing is far below this in the time between two looks.
    static constexpr Nanoseconds kStep = 100 * kMillisecond;

    // The system's clock, read between two readings of our own. What there is to say.
    std::optional<std::string> sample(Nanoseconds before, std::uint64_t unix_ns,
                                      Nanoseconds after) {
        if (after - before > kReading) {
            return std::nullopt;  // the thread was away between them
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

}  // namespace unecho::control
