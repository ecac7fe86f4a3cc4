// SPDX-License-Identifier: BSD-3-Clause
// The secret that keys every digest: drawn at start, so that nobody outside can construct packets
// that collide; fixed from a seed only where a run must be reproducible.
#pragma once

#include <array>
#include <cstdint>

#include "base/result.h"

namespace unecho::hash {

struct alignas(64) Secret {
    std::array<std::uint8_t, 192> bytes;  // XXH3's default secret size
};

// From the kernel's random generator; Errc::kIo if it fails.
Result<Secret> random_secret();

// The same seed gives the same secret on every machine.
Secret secret_from_seed(std::uint64_t seed) noexcept;

}  // namespace unecho::hash
