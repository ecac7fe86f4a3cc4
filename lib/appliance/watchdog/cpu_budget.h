// SPDX-License-Identifier: BSD-3-Clause
// How long a thread of real-time priority may work before it must sleep.
#pragma once

#include <algorithm>

#include "base/units.h"

namespace unecho::control {

// Leaves the threads of normal priority a fifth of the CPU at least, whatever the thread has to do:
// who has worked for kStint without having slept a quarter as long is due for a rest of kRest.
class CpuBudget {
  public:
    static constexpr Nanoseconds kStint = kMillisecond;
    static constexpr Nanoseconds kRest = kStint / 4;

    void worked(Nanoseconds time) noexcept { owed_ += time; }
    void slept(Nanoseconds time) noexcept { owed_ -= std::min(owed_, 4 * time); }
    [[nodiscard]] bool rest_due() const noexcept { return owed_ >= kStint; }

  private:
    Nanoseconds owed_ = 0;  // work that no sleep made up for
};

}  // namespace unecho::control
