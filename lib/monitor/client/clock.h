// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ctime>

#include "base/units.h"

namespace unecho::monitor {

inline Nanoseconds now_of(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
}
// Monotonic; for waiting.
inline Nanoseconds steady_now() {
    return now_of(CLOCK_MONOTONIC);
}
// Nanoseconds since 1970; for people.
inline Nanoseconds unix_now() {
    return now_of(CLOCK_REALTIME);
}

}  // namespace unecho::monitor
