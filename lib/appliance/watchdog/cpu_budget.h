// SPDX-License-Identifier: BSD-3-Clause
// The CPU time that a thread of real-time priority may use before it must sleep.
#pragma once

#include <algorithm>

#include "base/units.h"

namespace unecho::appliance {

// Leaves at least a fifth of the CPU to threads of normal priority. After work of kStint without a
// quarter as much sleep, a rest of kRest is due.
class CpuBudget {
  public:
    static constexpr Nanoseconds kStint = kMillisecond;
    static constexpr Nanoseconds kRest = kStint / 4;

    void worked(Nanoseconds time) noexcept { owed_ += time; }
    void slept(Nanoseconds time) noexcept { owed_ -= std::min(owed_, 4 * time); }
    [[nodiscard]] bool rest_due() const noexcept { return owed_ >= kStint; }

  private:
    Nanoseconds owed_ = 0;  // work not yet made up for by sleep
};

}  // namespace unecho::appliance
