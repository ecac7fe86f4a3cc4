// SPDX-License-Identifier: BSD-3-Clause
// Sizing of the timing filter by time (filters/window/segmented/btbf.h, TimedBtbf): m timers of a
// few bits, k of them for each key, with generations as blocks. Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

inline constexpr unsigned kMaxTimerHashes = 32;  // k
inline constexpr unsigned kMinTimerBits = 2;
inline constexpr unsigned kMaxTimerBits = 16;

struct BtbfGeometry {
    unsigned k = 0;       // timers of a key
    unsigned l = 0;       // generations of the window
    std::uint64_t m = 0;  // timers
    unsigned bits = 0;    // of a timer; at least timer_bits(l, 0)

    bool operator==(const BtbfGeometry&) const = default;
};

// Return the bits of the smallest timer for a window of l generations and a padding. It must
// distinguish ages 0 to l + 1 + padding, and expired.
unsigned timer_bits(unsigned l, unsigned padding);
// Return the generations that `bits` bits leave for the expiry of all timers.
unsigned timer_padding(unsigned l, unsigned bits);

// Return the probability that k timers, anywhere among m, were all written by n live keys.
double timers_match(double m, unsigned k, double n);

// Return the geometry that meets the targets with the least memory; within 1 %, with the fewest
// timers a key. Just before a generation turns, the keys of l + 1 generations are live. The padding
// lets expiry keep up by visiting k timers for each insertion at the planned rate, as in section
// 5.1.2 of "Inferential Time-Decaying Bloom Filters".
Result<BtbfGeometry> size_btbf(const Targets& targets);

// k, l and m are at least 1, bits 2 to 16. Its own capacity keeps half of the timers live.
Prediction predict(const BtbfGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
