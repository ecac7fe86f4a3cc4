// SPDX-License-Identifier: BSD-3-Clause
// ChaCha20's block function (RFC 8439, section 2.3): 64 bytes of key stream, for seeded secrets.
// Cold.
#pragma once

#include <array>
#include <cstdint>

namespace unecho::hash {

using ChachaKey = std::array<std::uint32_t, 8>;
using ChachaNonce = std::array<std::uint32_t, 3>;
using ChachaBlock = std::array<std::uint32_t, 16>;

[[nodiscard]] ChachaBlock chacha20_block(const ChachaKey& key, std::uint32_t counter,
                                         const ChachaNonce& nonce) noexcept;

}  // namespace unecho::hash
