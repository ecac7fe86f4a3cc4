// SPDX-License-Identifier: BSD-3-Clause
// Waiting for other threads by sleeping between polls, never by spinning: the control thread has
// real-time priority, and the awaited thread may need its CPU.
#pragma once

#include <algorithm>
#include <ctime>

#include "base/units.h"

namespace unecho::appliance {

inline void sleep_for(Nanoseconds ns) {
    const timespec time{static_cast<std::time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
    nanosleep(&time, nullptr);
}

// Sleeps of growing length: a fast reply is seen at once, and a slow one costs few polls.
class SleepBackoff {
  public:
    static constexpr Nanoseconds kShortest = 20 * kMicrosecond;
    static constexpr Nanoseconds kLongest = kMillisecond;

    void pause() {
        sleep_for(next_);
        next_ = std::min(2 * next_, kLongest);
    }

  private:
    Nanoseconds next_ = kShortest;
};

}  // namespace unecho::appliance
