// SPDX-License-Identifier: BSD-3-Clause
// How fast the processor's counter (TSC) runs, by CLOCK_MONOTONIC_RAW. DPDK's own figure may be
// rounded to 10 MHz, which is 0.2 % and more; a clock that runs fast by it makes windows short by
// it. Measured here is the highest rate that two readings allow, so that the clock never runs fast.
#pragma once

#include <cstdint>

#include "appliance/dataplane/tsc_clock.h"
#include "base/units.h"

namespace unecho::control {

// Both clocks at one moment: the counter was between low and high.
struct ClockReading {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    Nanoseconds time = 0;
};

// Of several attempts the one with the least between low and high: in others the thread was put
// aside. tsc() and time() read one clock each.
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

// So far apart two readings give the rate to a few millionths.
inline constexpr Nanoseconds kRateBaseline = 50 * kMillisecond;

// Counts from the second reading on, and never faster than real time, as long as the rate does not
// rise by more than a hundred-thousandth.
dataplane::TscClock measured_clock(const ClockReading& first, const ClockReading& second);

}  // namespace unecho::control
