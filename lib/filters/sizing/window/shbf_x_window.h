// SPDX-License-Identifier: BSD-3-Clause
// Sizing of windows of multiplicities (filters/window/segmented/shbf_x_window.h). Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

// Segments are ShBF_X, for the first c packets of a flow.
struct ShbfXWindowGeometry {
    unsigned k = 0;       // bits set in a segment by a packet that passes
    unsigned l = 0;       // 1 + l segments
    std::uint64_t m = 0;  // bits of a segment, without padding
    unsigned c = 0;       // largest multiplicity

    bool operator==(const ShbfXWindowGeometry&) const = default;
};

// Size for the first n packets of a flow, n of 1 to 57. All packets at the planned rate count as
// passed. A false drop is that of a flow's n-th packet; those of earlier ones are less likely.
// Takes up to 50 % more than the least memory to touch fewer cache lines.
Result<ShbfXWindowGeometry> size_shbf_x_window(const Targets& targets, unsigned n);

// Return upper bounds after that many packets in a segment: one given multiplicity matches a flow
// that does not have it; any of the c does.
double shbf_x_multiplicity_match(const ShbfXWindowGeometry& geometry, double packets);
double shbf_x_match(const ShbfXWindowGeometry& geometry, double packets);

// k, l, m and c are at least 1. The geometry's own capacity is fill 1/2 in a full segment.
Prediction predict(const ShbfXWindowGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
