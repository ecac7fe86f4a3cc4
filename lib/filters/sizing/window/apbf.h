// SPDX-License-Identifier: BSD-3-Clause
// Sizing of the APBF (filters/window/segmented/apbf.h). Pure functions.
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

Result<ApbfGeometry> size_apbf(const Targets& targets);

// k, l and m are at least 1. The geometry's own capacity is fill 1/2 in a full segment.
Prediction predict(const ApbfGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
