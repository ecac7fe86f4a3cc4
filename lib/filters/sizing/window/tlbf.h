// SPDX-License-Identifier: BSD-3-Clause
// Sizing of the time-limited filter (filters/window/segmented/tlbf.h). Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

inline constexpr unsigned kMaxTlbfSlices = 128;  // in use at a time

// State of the filter, in addition to its slices.
inline constexpr std::uint64_t kTlbfStateBytes = 7360;

struct TlbfGeometry {
    unsigned k = 0;
    unsigned l = 0;
    unsigned max_slices = 0;        // that may be in use at a time
    std::uint64_t capacity = 0;     // keys of a window at the planned rate
    std::uint64_t arena_bytes = 0;  // for all slices

    bool operator==(const TlbfGeometry&) const = default;
};

// Size a filter. The rate determines the arena; max_false_drop holds at any rate.
Result<TlbfGeometry> size_tlbf(const Targets& targets);

// k, l and capacity are at least 1.
Prediction predict(const TlbfGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
