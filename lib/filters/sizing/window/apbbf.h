// SPDX-License-Identifier: BSD-3-Clause
// Sizing of the APBBF (filters/window/segmented/apbbf.h). Pure functions.
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

Result<ApbbfGeometry> size_apbbf(const Targets& targets);

// k, l, b and blocks are at least 1, B/b at least 2. Its capacity is fill 1/2 in a full segment.
Prediction predict(const ApbbfGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
