// SPDX-License-Identifier: BSD-3-Clause
// Gives the calling thread real-time priority for the life of this object: it runs as soon as it
// wakes, before every thread of normal priority on its CPU. Meant for a thread that nearly always
// sleeps and must not be late: a generation that turns late takes more keys than it was sized for.
#pragma once

#include <sched.h>

#include "base/result.h"

namespace unecho::appliance {

class RealtimePriority {
  public:
    RealtimePriority();
    ~RealtimePriority();
    RealtimePriority(const RealtimePriority&) = delete;
    RealtimePriority& operator=(const RealtimePriority&) = delete;

    // Errc::kPermission without CAP_SYS_NICE or RLIMIT_RTPRIO; the priority is then unchanged.
    [[nodiscard]] const Status& status() const { return status_; }

  private:
    int policy_ = SCHED_OTHER;
    sched_param parameters_{};
    Status status_;
};

}  // namespace unecho::appliance
