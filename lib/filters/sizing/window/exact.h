// SPDX-License-Identifier: BSD-3-Clause
// Targets <-> geometry for the exact table (filters/window/exact.h). Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

inline constexpr std::uint64_t kMaxExactEntries = std::uint64_t{1} << 31;  // links have 32 bits
// Digest, time, bucket, links of chain and list.
inline constexpr std::uint64_t kExactEntryBytes = 32;

struct ExactGeometry {
    std::uint64_t entries = 0;

    bool operator==(const ExactGeometry&) const = default;
};

// As sizing.h says.
Result<ExactGeometry> size_exact(const Targets& targets);

// For a geometry with entries of at least 1 and a window of 1 ns to kMaxWindow.
// keys_per_second absent: the geometry's own capacity is the planned rate, that is a full table.
Prediction predict(const ExactGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
