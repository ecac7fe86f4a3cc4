// SPDX-License-Identifier: BSD-3-Clause
// Targets <-> geometry for the APBBF (filters/window/segmented/apbbf.h). Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

struct ApbbfGeometry {
    unsigned k = 0;
    unsigned l = 0;
    unsigned B = 512;          // bits of a block
    unsigned b = 0;            // bits set in a block by a key
    std::uint64_t blocks = 0;  // of a segment

    bool operator==(const ApbbfGeometry&) const = default;
};

// As sizing.h says.
Result<ApbbfGeometry> size_apbbf(const Targets& targets);

// For a geometry with k, l, b and blocks of at least 1 and B/b of at least 2 and a window of 1 ns
// to kMaxWindow. keys_per_second absent: the geometry's own capacity is the planned rate, that is
// fill 1/2 in a full segment.
Prediction predict(const ApbbfGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
