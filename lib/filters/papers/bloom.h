// SPDX-License-Identifier: BSD-3-Clause
// Bloom filter: m bits. An insertion sets k of them, a query tests whether all k are set.
//
// Guarantee: a digest inserted since the last clear() always matches.
// Cost: an insertion touches k cache lines; a query about 2 for an absent digest at fill 1/2, k for
//   a present one. m bits.
// Accuracy: after n digests (1 - (1 - 1/m)^(kn))^k, at best 2^-k with k = (m / n) ln 2
//   (sizing::bloom_rate).
// Weakness: it forgets all or nothing; k cache misses.
// References: B. Bloom, Space/Time Trade-offs in Hash Coding with Allowable Errors, CACM 13(7),
//   1970. Shifting Bloom Filter, equation 8, is the rate for large m.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "filters/hash/digest.h"
#include "filters/papers/cells.h"
#include "filters/papers/spec.h"

namespace unecho::filter::baseline {

struct BloomLayout {
    static constexpr Rules kRules{.filter = "bloom"};
};
using BloomParams = BaselineParams<BloomLayout>;

class Bloom {
  public:
    [[nodiscard]] static std::size_t bytes(const BloomParams& params) noexcept {
        return BitArray::bytes(params.m());
    }

    // offset, salt: beginning and hash functions of this one among filters that share memory.
    Bloom(const BloomParams& params, std::span<std::byte> memory, std::size_t offset = 0,
          std::uint64_t salt = 0) noexcept
        : m_(params.m()), k_(params.k()), salt_(salt), bits_(params.m(), memory, offset) {}

    void prefetch(Digest digest) const noexcept {
        const Positions positions(digest, salt_);
        for (unsigned i = 0; i < k_; ++i) {
            bits_.prefetch(positions.at(i, m_));
        }
    }
    [[nodiscard]] bool query(Digest digest) const noexcept {
        const Positions positions(digest, salt_);
        for (unsigned i = 0; i < k_; ++i) {
            if (!bits_.test(positions.at(i, m_))) {
                return false;
            }
        }
        return true;
    }
    void insert(Digest digest) noexcept {
        const Positions positions(digest, salt_);
        for (unsigned i = 0; i < k_; ++i) {
            bits_.set(positions.at(i, m_));
        }
    }
    void clear() noexcept { bits_.clear(); }

  private:
    std::uint64_t m_;
    unsigned k_;
    std::uint64_t salt_;
    BitArray bits_;
};

}  // namespace unecho::filter::baseline
