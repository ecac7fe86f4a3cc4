// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/dataplane/tsc_clock.h"

#include <gtest/gtest.h>

namespace unecho::dataplane {
namespace {

TEST(TscClock, at_its_start_is_zero) {
    EXPECT_EQ(TscClock::with_frequency(12345, 2'600'000'000).at(12345), 0U);
}

// The scale is rounded down to multiples of 2^-32 ns a cycle. So up to hz / 2^32 ns a second are
// missing, and none is added.
TEST(TscClock, of_each_frequency_is_late_by_its_rounding_at_most) {
    for (const std::uint64_t hz :
         {1'000'000'000ULL, 1'999'999'999ULL, 2'600'000'000ULL, 4'999'999'937ULL}) {
        const std::uint64_t start = 987'654'321'987ULL;
        const TscClock clock = TscClock::with_frequency(start, hz);
        for (const std::uint64_t seconds : {1ULL, 60ULL, 3600ULL, 86400ULL}) {
            const Nanoseconds exact = seconds * kSecond;
            const Nanoseconds told = clock.at(start + seconds * hz);
            EXPECT_LE(told, exact) << hz;
            EXPECT_LE(exact - told, 1 + (seconds * hz >> 32)) << hz << " after " << seconds << " s";
        }
    }
}

TEST(TscClock, after_years_does_not_overflow) {
    constexpr std::uint64_t kHz = 3'000'000'000;
    const TscClock clock = TscClock::with_frequency(0, kHz);
    constexpr std::uint64_t kSeconds = 20ULL * 365 * 86400;
    EXPECT_NEAR(static_cast<double>(clock.at(kSeconds * kHz)), static_cast<double>(kSeconds) * 1e9,
                1e10);
}

TEST(TscClock, between_two_cycles_never_steps_back) {
    const TscClock clock = TscClock::with_frequency(0, 2'599'987'654);
    Nanoseconds last = 0;
    for (std::uint64_t tsc = 1'000'000'000'000; tsc < 1'000'000'010'000; ++tsc) {
        const Nanoseconds now = clock.at(tsc);
        ASSERT_GE(now, last);
        ASSERT_LE(now - last, last == 0 ? now : 1U);
        last = now;
    }
}

}  // namespace
}  // namespace unecho::dataplane
