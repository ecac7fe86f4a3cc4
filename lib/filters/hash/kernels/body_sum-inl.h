// SPDX-License-Identifier: BSD-3-Clause
// The loop that all kernels share. A kernel's Block has add(stripe, key) and sums().
#pragma once

#include "filters/hash/kernels/body_sum.h"

namespace unecho::hash {
namespace {

struct BlockSums {
    std::uint64_t first;
    std::uint64_t second;
};

inline constexpr std::size_t kStripeWords = kStripeBytes / sizeof(std::uint64_t);

inline uint128 block_product(const BlockSums& sums, const std::uint64_t* key) noexcept {
    return uint128{sums.first + key[0]} * (sums.second + key[1]);
}

template <typename Block>
uint128 body_sum(const std::uint8_t* body, std::size_t n, const Secret& secret) noexcept {
    const std::uint64_t* key = secret.blocks.data();
    const std::uint64_t* const words = secret.body.data();
    uint128 sum = 0;
    for (; n > kBlockBytes; n -= kBlockBytes, body += kBlockBytes, key += 2) {
        Block block;
        for (std::size_t i = 0; i < kBlockStripes; ++i) {
            block.add(body + i * kStripeBytes, words + i * kStripeWords);
        }
        sum += block_product(block.sums(), key);
    }
    Block block;
    const std::size_t whole = (n - 1) / kStripeBytes;
    for (std::size_t i = 0; i < whole; ++i) {
        block.add(body + i * kStripeBytes, words + i * kStripeWords);
    }
    block.add(body + n - kStripeBytes, words + whole * kStripeWords);
    return sum + block_product(block.sums(), key);
}

}  // namespace
}  // namespace unecho::hash
