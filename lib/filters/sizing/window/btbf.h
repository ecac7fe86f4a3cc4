// SPDX-License-Identifier: BSD-3-Clause
// Targets <-> geometry for the timing filter by time (filters/window/segmented/btbf.h, TimedBtbf):
// m timers of a few bits, k of them a key, generations as blocks. Pure functions.
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

// The smallest timer for a window of l generations and a padding: ages 0 to l + 1 + padding, and
// expired, must be told apart.
unsigned timer_bits(unsigned l, unsigned padding);
// The generations that bits leave for the expiry of all timers.
unsigned timer_padding(unsigned l, unsigned bits);

// Every one of k timers, anywhere among m, was written by one of n live keys.
double timers_match(double m, unsigned k, double n);

// The geometry that meets the targets with the least memory (within 1 %: with the fewest timers a
// key). Just before a generation turns, the keys of l + 1 generations are live. As in section 5.1.2
// of "Inferential Time-Decaying Bloom Filters", the padding lets expiry keep up by visiting k
// timers for an insertion at the planned rate.
Result<BtbfGeometry> size_btbf(const Targets& targets);

// For a geometry with k, l and m of at least 1 and bits of 2 to 16, and a window of 1 ns to
// kMaxWindow. keys_per_second absent: the planned rate is that which brings half of the timers to
// life.
Prediction predict(const BtbfGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
