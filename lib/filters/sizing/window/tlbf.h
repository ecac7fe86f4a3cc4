// SPDX-License-Identifier: BSD-3-Clause
// Targets <-> geometry for the time-limited filter (filters/window/segmented/tlbf.h). Pure
// functions.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

inline constexpr unsigned kMaxTlbfSlices = 128;  // alive at a time

// What the filter remembers of its slices beside them.
inline constexpr std::uint64_t kTlbfStateBytes = 7360;

struct TlbfGeometry {
    unsigned k = 0;
    unsigned l = 0;
    unsigned max_slices = 0;        // that may be alive at a time
    std::uint64_t capacity = 0;     // keys of a window at the planned rate
    std::uint64_t arena_bytes = 0;  // for all slices

    bool operator==(const TlbfGeometry&) const = default;
};

// Here the rate is what the arena is made for; max_false_drop holds at any rate.
Result<TlbfGeometry> size_tlbf(const Targets& targets);

// For a geometry with k, l and capacity of at least 1 and a window of 1 ns to kMaxWindow.
// keys_per_second absent: the geometry's own capacity is the planned rate, that is its capacity.
Prediction predict(const TlbfGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
