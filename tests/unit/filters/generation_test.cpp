// SPDX-License-Identifier: BSD-3-Clause
#include "filters/generation.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace unecho::filter::generation_test {
namespace {

TEST(generation_clock, covering_rounds_up) {
    EXPECT_EQ(GenerationClock::covering(100, 5).length, 20u);
    EXPECT_EQ(GenerationClock::covering(101, 5).length, 21u);
    EXPECT_EQ(GenerationClock::covering(1, 8).length, 1u);
    EXPECT_EQ(GenerationClock::covering(0, 8).length, 1u);
}

// The header promises that an age below the window spans at most l generation boundaries.
TEST(generation_clock, age_below_window_spans_at_most_l) {
    for (unsigned l = 1; l <= 9; ++l) {
        for (Nanoseconds window = 1; window <= 40; ++window) {
            const GenerationClock clock = GenerationClock::covering(window, l);
            for (Nanoseconds start = 0; start < 2 * clock.length; ++start) {
                const std::uint64_t j = clock.generation_of(start);
                EXPECT_LE(clock.generation_of(start + window - 1), j + l)
                    << "l " << l << " window " << window << " start " << start;
            }
        }
    }
}

TEST(generation_clock, late_time_has_generation) {
    const GenerationClock clock{1};
    const Nanoseconds late = std::numeric_limits<Nanoseconds>::max();
    EXPECT_EQ(clock.generation_of(late), late);
}

}  // namespace
}  // namespace unecho::filter::generation_test
