// SPDX-License-Identifier: BSD-3-Clause
// Blocked Bloom filter: all k bits of a digest lie in one block, which is a small Bloom filter.
// Here a block is a cache line of 512 bits; in one_mem_bloom.h it is one word.
//
// Guarantee: a digest inserted since the last clear() always matches.
// Cost: one cache line for any operation. m bits.
// Accuracy: the loads of blocks are Poisson, so the rate is the mean over these of the rate of a
//   Bloom filter of 512 bits (sizing::blocked_rate). Some blocks are full while others are empty,
//   which costs ever more at lower rates. At fill 1/2 the rate is 1.3 times 2^-8 for k = 8, and six
//   times 2^-16 for k = 16.
// Weakness: memory at low rates.
// References: Putze, Sanders, Singler, Cache-, Hash- and Space-Efficient Bloom Filters, JEA 14,
//   2009. Age-Partitioned Bloom Filters, section 6.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "filters/hash/digest.h"
#include "filters/papers/cells.h"
#include "filters/papers/spec.h"

namespace unecho::filter::baseline {

struct BlockedBloomLayout {
    static constexpr unsigned kBlockBits = 512;
    static constexpr Rules kRules{.filter = "blocked bloom", .min_m = 512, .granule = 512};
};

template <typename Layout>
class BasicBlockedBloom {
  public:
    using Params = BaselineParams<Layout>;
    static constexpr unsigned kBlockBits = Layout::kBlockBits;

    [[nodiscard]] static std::size_t bytes(const Params& params) noexcept {
        return BitArray::bytes(params.m());
    }

    BasicBlockedBloom(const Params& params, std::span<std::byte> memory,
                      std::size_t offset = 0) noexcept
        : blocks_(params.m() / kBlockBits), k_(params.k()), bits_(params.m(), memory, offset) {}

    void prefetch(Digest digest) const noexcept { bits_.prefetch(block_of(digest) * kBlockBits); }
    [[nodiscard]] bool query(Digest digest) const noexcept {
        const std::uint64_t* const block = bits_.words() + block_of(digest) * kBlockWords;
        std::uint64_t all = 1;
        for_each_bit(digest, [&](unsigned bit) noexcept { all &= block[bit / 64] >> (bit % 64); });
        return all != 0;
    }
    void insert(Digest digest) noexcept {
        std::uint64_t* const block = bits_.words() + block_of(digest) * kBlockWords;
        for_each_bit(digest, [&](unsigned bit) noexcept {
            block[bit / 64] |= std::uint64_t{1} << (bit % 64);
        });
    }
    void clear() noexcept { bits_.clear(); }

  private:
    static_assert(std::has_single_bit(kBlockBits) && kBlockBits >= 64 &&
                  kBlockBits <= kBitsPerLine);
    static constexpr unsigned kBlockWords = kBlockBits / 64;
    // A digit of a hash is the number of a bit in its block.
    static constexpr unsigned kDigitBits = std::countr_zero(kBlockBits);
    static constexpr unsigned kDigits = 64 / kDigitBits;

    [[nodiscard]] std::uint64_t block_of(Digest digest) const noexcept {
        return reduce(remix(digest, 1), blocks_);
    }
    template <typename Function>
    void for_each_bit(Digest digest, Function function) const noexcept {
        for (unsigned first = 0; first < k_; first += kDigits) {
            std::uint64_t digits = remix(digest, 2 + first);
            for (unsigned i = first; i < std::min(k_, first + kDigits); ++i) {
                function(static_cast<unsigned>(digits % kBlockBits));
                digits >>= kDigitBits;
            }
        }
    }

    std::uint64_t blocks_;
    unsigned k_;
    BitArray bits_;
};

using BlockedBloom = BasicBlockedBloom<BlockedBloomLayout>;
using BlockedBloomParams = BlockedBloom::Params;

}  // namespace unecho::filter::baseline
