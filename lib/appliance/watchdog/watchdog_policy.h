// SPDX-License-Identifier: BSD-3-Clause
// When the service manager's watchdog is fed, and when it is due to be told how it goes: by looks
// of the control thread at its workers. A control thread that hangs feeds nobody either.
#pragma once

#include <algorithm>

#include "base/units.h"

namespace unecho::control {

class WatchdogPolicy {
  public:
    // Of a worker that stands still no shorter time says anything: machines do that.
    static constexpr Nanoseconds kShortestStandstill = 100 * kMillisecond;
    static constexpr Nanoseconds kLongestStandstill = kSecond;
    static constexpr Nanoseconds kBetweenStatus = 10 * kSecond;

    // watchdog: 0 without one.
    explicit WatchdogPolicy(Nanoseconds watchdog) : watchdog_(watchdog) {}

    // A worker that has not polled for so long is said to hang: early enough to be in the log
    // before the manager ends the process.
    [[nodiscard]] static Nanoseconds hangs_after(Nanoseconds watchdog) {
        return watchdog == 0 ? kLongestStandstill
                             : std::clamp(watchdog / 4, kShortestStandstill, kLongestStandstill);
    }

    // Whether it is to be fed now, half its time after the last time; not while some worker has
    // stood still for longer than a quarter of it.
    bool feed(Nanoseconds longest_standstill, Nanoseconds now) {
        if (watchdog_ == 0 || now < next_feed_ ||
            longest_standstill > std::max(watchdog_ / 4, kShortestStandstill)) {
            return false;
        }
        next_feed_ = now + watchdog_ / 2;
        return true;
    }

    // Whether a line of how it goes is due.
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

}  // namespace unecho::control
