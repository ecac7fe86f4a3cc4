// SPDX-License-Identifier: BSD-3-Clause
// Targets <-> geometry for windows of multiplicities (filters/window/segmented/shbf_x_window.h).
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

// Segments that are ShBF_X, for the first c packets of a flow.
struct ShbfXWindowGeometry {
    unsigned k = 0;       // bits set in a segment by a packet that passes
    unsigned l = 0;       // 1 + l segments
    std::uint64_t m = 0;  // bits of a segment, without padding
    unsigned c = 0;       // largest multiplicity

    bool operator==(const ShbfXWindowGeometry&) const = default;
};

// For the first n packets of a flow, n of 1 to 57. All packets at the planned rate count as passed,
// and a false drop is that of a flow's last packet, the n-th: earlier ones are less likely. Up to
// half more than the least memory is taken for fewer cache lines.
Result<ShbfXWindowGeometry> size_shbf_x_window(const Targets& targets, unsigned n);

// At most, after so many packets in a segment: one given multiplicity matches a flow that does not
// have it, and any of the c does.
double shbf_x_multiplicity_match(const ShbfXWindowGeometry& geometry, double packets);
double shbf_x_match(const ShbfXWindowGeometry& geometry, double packets);

// For a geometry with k, l, m and c of at least 1 and a window of 1 ns to kMaxWindow.
// keys_per_second absent: the geometry's own capacity is the planned rate, that is fill 1/2 in a
// full segment.
Prediction predict(const ShbfXWindowGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
