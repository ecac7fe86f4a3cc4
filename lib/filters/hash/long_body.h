// SPDX-License-Identifier: BSD-3-Clause
// Sum of a body above 128 bytes, of any length. Hot; for keyed.h only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/int128.h"
#include "filters/hash/secret.h"

namespace unecho::hash {

// n >= kStripeBytes.
[[nodiscard]] uint128 long_body(const std::uint8_t* body, std::size_t n,
                                const Secret& secret) noexcept;

}  // namespace unecho::hash
