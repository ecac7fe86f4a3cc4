// SPDX-License-Identifier: BSD-3-Clause
// Partitioned Bloom filter: k slices of m / k bits. A digest has one bit in each.
//
// Guarantee: a digest inserted since the last clear() always matches.
// Cost: like a Bloom filter; m bits in all.
// Accuracy: after n digests (1 - (1 - k/m)^n)^k, for large m that of a Bloom filter
//   (sizing::partitioned_rate). No digest is weak: its k bits are always distinct.
// Weakness: like a Bloom filter.
// References: Age-Partitioned Bloom Filters, section 4. Mullin, A Second Look at Bloom Filters,
//   CACM 26(8), 1983.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "filters/hash/digest.h"
#include "filters/papers/cells.h"
#include "filters/papers/spec.h"

namespace unecho::filter::baseline {

struct PartitionedBloomLayout {
    static constexpr Rules kRules{.filter = "partitioned bloom", .slices = true};
};
using PartitionedBloomParams = BaselineParams<PartitionedBloomLayout>;

class PartitionedBloom {
  public:
    [[nodiscard]] static std::size_t bytes(const PartitionedBloomParams& params) noexcept {
        return BitArray::bytes(params.m());
    }

    PartitionedBloom(const PartitionedBloomParams& params, std::span<std::byte> memory) noexcept
        : slice_(params.m() / params.k()), k_(params.k()), bits_(params.m(), memory) {}

    void prefetch(Digest digest) const noexcept {
        const Positions positions(digest);
        for (unsigned i = 0; i < k_; ++i) {
            bits_.prefetch(bit_of(positions, i));
        }
    }
    [[nodiscard]] bool query(Digest digest) const noexcept {
        const Positions positions(digest);
        for (unsigned i = 0; i < k_; ++i) {
            if (!bits_.test(bit_of(positions, i))) {
                return false;
            }
        }
        return true;
    }
    void insert(Digest digest) noexcept {
        const Positions positions(digest);
        for (unsigned i = 0; i < k_; ++i) {
            bits_.set(bit_of(positions, i));
        }
    }
    void clear() noexcept { bits_.clear(); }

  private:
    [[nodiscard]] std::uint64_t bit_of(const Positions& positions, unsigned i) const noexcept {
        return i * slice_ + positions.at(i, slice_);
    }

    std::uint64_t slice_;
    unsigned k_;
    BitArray bits_;
};

}  // namespace unecho::filter::baseline
