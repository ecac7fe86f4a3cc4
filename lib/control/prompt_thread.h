// SPDX-License-Identifier: BSD-3-Clause
// While it lives, the calling thread runs as soon as it wakes, before every thread of normal
// priority on its CPU. For one that sleeps nearly always and must not be late: a generation that
// turns late takes more keys than it was sized for.
#pragma once

#include <algorithm>

#include <sched.h>

#include "base/result.h"
#include "base/units.h"

namespace unecho::control {

class PromptThread {
  public:
    PromptThread();
    ~PromptThread();
    PromptThread(const PromptThread&) = delete;
    PromptThread& operator=(const PromptThread&) = delete;

    // Errc::kPermission without CAP_SYS_NICE or RLIMIT_RTPRIO; the thread then runs as it did.
    [[nodiscard]] const Status& status() const { return status_; }

  private:
    int policy_ = SCHED_OTHER;
    sched_param parameters_{};
    Status status_;
};

// Leaves the threads of normal priority a fifth of the CPU at least, whatever the thread has to do:
// who has worked for kStint without having slept a quarter as long is due for a rest of kRest.
class Fatigue {
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
