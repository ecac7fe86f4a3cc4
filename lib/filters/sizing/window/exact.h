// SPDX-License-Identifier: BSD-3-Clause
// Sizing of the exact table (filters/window/exact.h). Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

inline constexpr std::uint64_t kMaxExactEntries = std::uint64_t{1} << 31;  // links have 32 bits
// Digest, time, bucket, and the links of chain and list.
inline constexpr std::uint64_t kExactEntryBytes = 32;

struct ExactGeometry {
    std::uint64_t entries = 0;

    bool operator==(const ExactGeometry&) const = default;
};

Result<ExactGeometry> size_exact(const Targets& targets);

// entries is at least 1. The geometry's own capacity is a full table.
Prediction predict(const ExactGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
