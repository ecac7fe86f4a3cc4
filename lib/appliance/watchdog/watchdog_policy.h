// SPDX-License-Identifier: BSD-3-Clause
// When to feed the service manager's watchdog, and when to send a status line. It depends on
// samples of the workers; a control thread that hangs feeds nothing either.
#pragma once

#include <algorithm>

#include "base/units.h"

namespace unecho::appliance {

class WatchdogPolicy {
  public:
    // Shorter standstills mean nothing: every machine has them.
    static constexpr Nanoseconds kShortestStandstill = 100 * kMillisecond;
    static constexpr Nanoseconds kLongestStandstill = kSecond;
    static constexpr Nanoseconds kBetweenStatus = 10 * kSecond;

    // watchdog: 0 without one.
    explicit WatchdogPolicy(Nanoseconds watchdog) : watchdog_(watchdog) {}

    // Return the standstill from which a worker is reported as hung: short enough to be in the log
    // before the manager ends the process.
    [[nodiscard]] static Nanoseconds hangs_after(Nanoseconds watchdog) {
        return watchdog == 0 ? kLongestStandstill
                             : std::clamp(watchdog / 4, kShortestStandstill, kLongestStandstill);
    }

    // Return true if the watchdog is to be fed now: half its timeout after the last time, unless
    // some worker has stood still for more than a quarter of it.
    bool feed(Nanoseconds longest_standstill, Nanoseconds now) {
        if (watchdog_ == 0 || now < next_feed_ ||
            longest_standstill > std::max(watchdog_ / 4, kShortestStandstill)) {
            return false;
        }
        next_feed_ = now + watchdog_ / 2;
        return true;
    }

    bool status_due(Nanoseconds now) {
        if (now < next_status_) {
            return false;
        }
        next_status_ = now + kBetweenStatus;
        return true;
    }

  private:
    Nanoseconds watchdog_;
    Nanoseconds next_feed_ = 0;
    Nanoseconds next_status_ = 0;
};

}  // namespace unecho::appliance
