// SPDX-License-Identifier: BSD-3-Clause
// Waiting for other threads: by sleep between looks, never by spinning. The control thread has
// real-time priority, and whom it waits for may need its CPU to answer.
#pragma once

#include <algorithm>
#include <ctime>

#include "base/units.h"

namespace unecho::control {

inline void sleep_for(Nanoseconds ns) {
    const timespec time{static_cast<std::time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
    nanosleep(&time, nullptr);
}

// Sleeps of growing length: an answer that comes at once is seen at once, one that takes long costs
// few looks.
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

}  // namespace unecho::control
