// SPDX-License-Identifier: BSD-3-Clause
// The rate of the processor's counter (TSC), measured against CLOCK_MONOTONIC_RAW. DPDK's own
// figure may be rounded to 10 MHz, an error of 0.2 % or more, and a fast clock shortens windows.
// The result is the highest rate that two readings allow, so the clock is never fast.
#pragma once

#include <cstdint>

#include "appliance/dataplane/tsc_clock.h"
#include "base/units.h"

namespace unecho::appliance {

// Both clocks at one moment: the counter was between low and high.
struct ClockReading {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    Nanoseconds time = 0;
};

// Return the attempt with the least difference of high and low: in the others the thread may have
// been preempted. tsc() and time() read one clock each.
template <typename Tsc, typename Time>
ClockReading read_clocks(Tsc&& tsc, Time&& time) {
    constexpr int kAttempts = 16;
    ClockReading best;
    for (int i = 0; i < kAttempts; ++i) {
        ClockReading reading;
        reading.low = tsc();
        reading.time = time();
        reading.high = tsc();
        if (i == 0 || reading.high - reading.low < best.high - best.low) {
            best = reading;
        }
    }
    return best;
}
ClockReading read_clocks();

// Two readings this far apart give the rate to a few millionths.
inline constexpr Nanoseconds kRateBaseline = 50 * kMillisecond;

// Return a clock that counts from the second reading on. It is never faster than real time while
// the rate rises by at most 1e-5.
dataplane::TscClock measured_clock(const ClockReading& first, const ClockReading& second);

}  // namespace unecho::appliance
