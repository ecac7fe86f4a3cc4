// SPDX-License-Identifier: BSD-3-Clause
// The secret that keys every digest. It is drawn at start, so that no outsider can construct
// packets that collide. A seed fixes it only where a run must be reproducible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "filters/hash/chacha20.h"

namespace unecho::hash {

// A body is summed in stripes, 16 of them a block, 64 blocks a group
// (filters/hash/kernels/body_sum.h).
inline constexpr std::size_t kStripeBytes = 64;
inline constexpr std::size_t kBlockStripes = 16;
inline constexpr std::size_t kBlockBytes = kBlockStripes * kStripeBytes;
inline constexpr std::size_t kGroupBlocks = 64;
inline constexpr std::size_t kGroupBytes = kGroupBlocks * kBlockBytes;

// Random words, each used once: the proof in keyed.h needs them independent and uniform.
struct alignas(64) Secret {
    std::array<std::uint64_t, 2> ends;    // of head and length
    std::array<std::uint64_t, 2> fold;    // of the last step, 128 bits to 64; low, high
    std::array<std::uint64_t, 2> points;  // of bodies above kGroupBytes; their low 61 bits
    std::array<std::uint64_t, 2> second;  // of second heads; the next word begins a cache line
    std::array<std::uint64_t, (kBlockBytes + kStripeBytes) / 8> body;
    std::array<std::uint64_t, 2 * kGroupBlocks> blocks;
};

// Draw every word from the kernel's random generator. Errc::kIo if that fails.
Result<Secret> random_secret();

// Return the secret of a seed, the same on every machine: ChaCha20's key stream (RFC 8439) under
// the seed. Knowing the seed means knowing the secret. Without it, the secret can be distinguished
// from a random one only by trying seeds.
Secret secret_from_seed(std::uint64_t seed) noexcept;
// The same for a 256-bit key. Each nonce gives another secret.
Secret secret_from_key(const ChachaKey& key, const ChachaNonce& nonce) noexcept;

}  // namespace unecho::hash
