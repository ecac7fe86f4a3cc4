// SPDX-License-Identifier: BSD-3-Clause
// While it lives, the calling thread runs as soon as it wakes, before every thread of normal
// priority on its CPU. For one that sleeps nearly always and must not be late: a generation that
// turns late takes more keys than it was sized for.
#pragma once

#include <sched.h>

#include "base/result.h"

namespace unecho::control {

class RealtimePriority {
  public:
    RealtimePriority();
    ~RealtimePriority();
    RealtimePriority(const RealtimePriority&) = delete;
    RealtimePriority& operator=(const RealtimePriority&) = delete;

    // Errc::kPermission without CAP_SYS_NICE or RLIMIT_RTPRIO; the thread then runs as it did.
    [[nodiscard]] const Status& status() const { return status_; }

  private:
    int policy_ = SCHED_OTHER;
    sched_param parameters_{};
    Status status_;
};

}  // namespace unecho::control
