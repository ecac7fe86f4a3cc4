// SPDX-License-Identifier: BSD-3-Clause
// Sizing of windows of shifting filters (filters/window/segmented/shbf_window.h). Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/fpr.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

// Segments are ShBF_M with one shift.
struct ShbfWindowGeometry {
    unsigned k = 0;
    unsigned l = 0;
    std::uint64_t m = 0;  // bits of a segment, without padding
    unsigned b = 0;       // bits set in a segment by a key

    bool operator==(const ShbfWindowGeometry&) const = default;
};

Result<ShbfWindowGeometry> size_shbf_window(const Targets& targets);

// Return the match probabilities of the segments, youngest first, for generations of g keys.
Profile shbf_window_profile(const ShbfWindowGeometry& geometry, std::uint64_t g, Progress progress);

// k, l, m and b are at least 1. The geometry's own capacity is fill 1/2 in a full segment.
Prediction predict(const ShbfWindowGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
