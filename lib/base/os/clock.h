// SPDX-License-Identifier: BSD-3-Clause
// The system's clocks in nanoseconds. Hot code reads the TSC instead.
#pragma once

#include <ctime>

#include "base/units.h"

namespace unecho {

inline Nanoseconds read_clock(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
}
// Monotonic; for waiting.
inline Nanoseconds steady_now() {
    return read_clock(CLOCK_MONOTONIC);
}
// Nanoseconds since 1970; for people.
inline Nanoseconds unix_now() {
    return read_clock(CLOCK_REALTIME);
}

}  // namespace unecho
