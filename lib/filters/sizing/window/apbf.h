// SPDX-License-Identifier: BSD-3-Clause
// Targets <-> geometry for the APBF (filters/window/segmented/apbf.h). Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

struct ApbfGeometry {
    unsigned k = 0;
    unsigned l = 0;
    std::uint64_t m = 0;  // bits of a slice

    bool operator==(const ApbfGeometry&) const = default;
};

// As sizing.h says.
Result<ApbfGeometry> size_apbf(const Targets& targets);

// For a geometry with k, l and m of at least 1 and a window of 1 ns to kMaxWindow.
// keys_per_second absent: the geometry's own capacity is the planned rate, that is fill 1/2 in a
// full segment.
Prediction predict(const ApbfGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
