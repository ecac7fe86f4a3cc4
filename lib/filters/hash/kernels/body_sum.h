// SPDX-License-Identifier: BSD-3-Clause
// The sum of a body of one group: NH twice. kernels/scalar.cpp is the specification; every other
// kernel gives the same bits.
//
// A stripe is 16 words of 32 bits, w. Under 16 key words k it counts
//     N(w, k) = sum of (w[i] + k[i] mod 2^32) * (w[i+8] + k[i+8] mod 2^32), i = 0..7, mod 2^64,
// and a block's two sums are those of its stripes s under key words 16 s.. and, for the second,
// 16 (s+1)..: NH and its Toeplitz extension. Blocks b are put together by NH over 64-bit words,
//     (first + blocks[2b] mod 2^64) * (second + blocks[2b+1] mod 2^64), summed mod 2^128.
// The last stripe ends where the body ends, over some of the bytes before it if need be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/int128.h"
#include "filters/hash/secret.h"

namespace unecho::hash {

// n from 1 to kGroupBytes; kStripeBytes in front of body + n can be read.
using BodySum = uint128 (*)(const std::uint8_t* body, std::size_t n, const Secret& secret) noexcept;

uint128 body_sum_scalar(const std::uint8_t* body, std::size_t n, const Secret& secret) noexcept;

#ifdef __AVX2__
uint128 body_sum_avx2(const std::uint8_t* body, std::size_t n, const Secret& secret) noexcept;
#endif

// Those of the instruction-set baseline, which every machine that runs this build has; the last is
// the fastest, and the one that digests are made with. Another kernel is a row.
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
