// SPDX-License-Identifier: BSD-3-Clause
// Counting Bloom filter: a Bloom filter of 4-bit counters, so that digests can be erased. A counter
// that reaches 15 stays there, because its true value is then unknown.
//
// Guarantee: a digest inserted more often than erased matches, provided that only inserted digests
//   are erased. A digest erased as often as inserted leaves nothing, except in counters at 15.
// Cost: k cache lines, also for an erasure. 4 m bits.
// Accuracy: that of a Bloom filter with the n present digests (sizing::bloom_rate). With k = (m /
//   n) ln 2, one of m counters reaches 16 with probability at most 1.37e-15 m
//   (sizing::counting_overflow).
// Weakness: four times the memory; one wrong erasure may cost another digest its match.
// References: Fan, Cao, Almeida, Broder, Summary Cache, IEEE/ACM ToN 8(3), 2000.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "filters/hash/digest.h"
#include "filters/papers/cells.h"
#include "filters/papers/spec.h"

namespace unecho::filter::baseline {

struct CountingBloomLayout {
    static constexpr Rules kRules{.filter = "counting bloom", .cell_bits = 4};
};
using CountingBloomParams = BaselineParams<CountingBloomLayout>;

class CountingBloom {
  public:
    [[nodiscard]] static std::size_t bytes(const CountingBloomParams& params) noexcept {
        return Cells::bytes(params.m(), kWidth);
    }

    CountingBloom(const CountingBloomParams& params, std::span<std::byte> memory) noexcept
        : m_(params.m()), k_(params.k()), cells_(params.m(), kWidth, memory) {}

    void prefetch(Digest digest) const noexcept {
        const Positions positions(digest);
        for (unsigned i = 0; i < k_; ++i) {
            cells_.prefetch(positions.at(i, m_));
        }
    }
    [[nodiscard]] bool query(Digest digest) const noexcept {
        const Positions positions(digest);
        for (unsigned i = 0; i < k_; ++i) {
            if (cells_.get(positions.at(i, m_)) == 0) {
                return false;
            }
        }
        return true;
    }
    void insert(Digest digest) noexcept {
        const Positions positions(digest);
        for (unsigned i = 0; i < k_; ++i) {
            const std::uint64_t cell = positions.at(i, m_);
            const std::uint64_t count = cells_.get(cell);
            cells_.put(cell, count == cells_.largest() ? count : count + 1);
        }
    }
    // Erase a digest that was inserted. Return false, and change nothing, if it was certainly not.
    bool erase(Digest digest) noexcept {
        if (!query(digest)) {
            return false;
        }
        const Positions positions(digest);
        for (unsigned i = 0; i < k_; ++i) {
            const std::uint64_t cell = positions.at(i, m_);
            const std::uint64_t count = cells_.get(cell);
            // A count is 0 here if the digest was never inserted and two of its positions coincide.
            cells_.put(cell, count == cells_.largest() || count == 0 ? count : count - 1);
        }
        return true;
    }
    void clear() noexcept { cells_.clear(); }

  private:
    static constexpr unsigned kWidth = CountingBloomLayout::kRules.cell_bits;

    std::uint64_t m_;
    unsigned k_;
    Cells cells_;
};

}  // namespace unecho::filter::baseline
