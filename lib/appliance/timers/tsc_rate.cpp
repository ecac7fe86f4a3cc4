// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/timers/tsc_rate.h"

#include <rte_cycles.h>

#include "base/assert.h"
#include "base/os/clock.h"

namespace unecho::appliance {
namespace {

constexpr std::uint64_t kDrift = 100'000;  // the rate may rise by one part in this many

}  // namespace

ClockReading read_clocks() {
    return read_clocks([] { return rte_rdtsc(); }, [] { return read_clock(CLOCK_MONOTONIC_RAW); });
}

dataplane::TscClock measured_clock(const ClockReading& first, const ClockReading& second) {
    UNECHO_ASSERT(second.time > first.time + 1 && second.high > first.low);
    // A time in whole nanoseconds is short by less than one.
    const Nanoseconds least = second.time - first.time - 1;
    const uint128 cycles = second.high - first.low;
    const auto highest = static_cast<std::uint64_t>((cycles * kSecond + least - 1) / least);
    return dataplane::TscClock::with_frequency(second.high, highest + highest / kDrift + 1);
}

}  // namespace unecho::appliance
