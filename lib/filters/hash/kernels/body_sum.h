// SPDX-License-Identifier: BSD-3-Clause
// The sum of a body of at most one group: NH, applied twice. scalar.cpp is the specification; every
// other kernel gives the same bits.
//
// A stripe is 16 words w of 32 bits. Under 16 key words k it contributes
//     N(w, k) = sum of (w[i] + k[i] mod 2^32) * (w[i+8] + k[i+8] mod 2^32), i = 0..7, mod 2^64.
// A block has two sums over its stripes s: one under key words 16 s.., the second under 16 (s+1)..:
// NH and its Toeplitz extension. Blocks b are combined by NH over 64-bit words,
//     (first + blocks[2b] mod 2^64) * (second + blocks[2b+1] mod 2^64), summed mod 2^128.
// The last stripe ends where the body ends and may overlap the bytes before it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/int128.h"
#include "filters/hash/secret.h"

namespace unecho::hash {

// n is 1 to kGroupBytes; the kStripeBytes before body + n are readable.
using BodySum = uint128 (*)(const std::uint8_t* body, std::size_t n, const Secret& secret) noexcept;

uint128 body_sum_scalar(const std::uint8_t* body, std::size_t n, const Secret& secret) noexcept;

#ifdef __AVX2__
uint128 body_sum_avx2(const std::uint8_t* body, std::size_t n, const Secret& secret) noexcept;
#endif

// The kernels of the build's instruction-set baseline, which every machine that runs this build
// has. The last one is the fastest and makes the digests. A further kernel is a row here.
struct BodySumKernel {
    std::string_view name;
    BodySum sum;
};
inline constexpr std::array kBodySumKernels{
    BodySumKernel{"scalar", body_sum_scalar},
#ifdef __AVX2__
    BodySumKernel{"avx2", body_sum_avx2},
#endif
};

}  // namespace unecho::hash
