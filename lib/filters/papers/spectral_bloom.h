// SPDX-License-Identifier: BSD-3-Clause
// Spectral Bloom filter: m counters, k of them for a digest. The least of these is the estimate of
// how often the digest was inserted. Minimum selection (SpectralMs) increments all k counters,
// minimum increase (SpectralMi) only the least ones.
//
// Guarantee: an estimate is never below the number of insertions (minus erasures, if only inserted
//   digests are erased). Only minimum selection can erase: with minimum increase, erasing would
//   decrement counters to which the digest has not added.
// Cost: k cache lines for any operation. 32 m bits; the paper packs counters by their value, which
//   saves memory and costs time.
// Accuracy: minimum selection is wrong about a digest with the probability that a Bloom filter of
//   the other digests matches it (sizing::bloom_rate). Minimum increase is never worse, and k times
//   better if all digests are equally frequent and the fill is at most 1/2. Both take an absent
//   digest for present (an estimate above 0) as often as a Bloom filter.
// Weakness: k cache lines to write; no bound on the error of a single estimate.
// References: Cohen, Matias, Spectral Bloom Filters, SIGMOD 2003 (minimum selection, minimum
//   increase; not recurring minimum). Shifting Bloom Filter, section 5, compares ShBF_X with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "filters/hash/digest.h"
#include "filters/papers/cells.h"
#include "filters/papers/counters.h"
#include "filters/papers/spec.h"

namespace unecho::filter::baseline {

struct SpectralLayout {
    static constexpr Rules kRules{.filter = "spectral bloom", .cell_bits = 32};
};
using SpectralParams = BaselineParams<SpectralLayout>;

enum class Selection : std::uint8_t { kMinimum, kMinimumIncrease };

template <Selection kSelection>
class SpectralBloom {
  public:
    [[nodiscard]] static std::size_t bytes(const SpectralParams& params) noexcept {
        return Counters::bytes(params.m());
    }

    SpectralBloom(const SpectralParams& params, std::span<std::byte> memory) noexcept
        : m_(params.m()), k_(params.k()), counters_(params.m(), memory) {}

    void prefetch(Digest digest) const noexcept {
        const Positions positions(digest);
        for (unsigned i = 0; i < k_; ++i) {
            counters_.prefetch(positions.at(i, m_));
        }
    }
    [[nodiscard]] Count estimate(Digest digest) const noexcept {
        return least_of(Positions(digest));
    }
    void insert(Digest digest) noexcept {
        const Positions positions(digest);
        [[maybe_unused]] const Count least = least_of(positions);
        for (unsigned i = 0; i < k_; ++i) {
            Count& count = counters_[positions.at(i, m_)];
            if (kSelection == Selection::kMinimum || count == least) {
                count = saturating_sum(count, 1);
            }
        }
    }
    // Erase a digest that was inserted. Return false, and change nothing, if it was certainly not.
    template <Selection kOwn = kSelection>
    bool erase(Digest digest) noexcept requires(kOwn == Selection::kMinimum) {
        const Positions positions(digest);
        if (least_of(positions) == 0) {
            return false;
        }
        for (unsigned i = 0; i < k_; ++i) {
            Count& count = counters_[positions.at(i, m_)];
            // A count is 0 here if the digest was never inserted and two of its positions coincide.
            count -= count == kMaxCount || count == 0 ? 0 : 1;
        }
        return true;
    }
    void clear() noexcept { counters_.clear(); }

  private:
    [[nodiscard]] Count least_of(const Positions& positions) const noexcept {
        Count least = kMaxCount;
        for (unsigned i = 0; i < k_ && least > 0; ++i) {
            least = std::min(least, counters_[positions.at(i, m_)]);
        }
        return least;
    }

    std::uint64_t m_;
    unsigned k_;
    Counters counters_;
};

using SpectralMs = SpectralBloom<Selection::kMinimum>;
using SpectralMi = SpectralBloom<Selection::kMinimumIncrease>;

}  // namespace unecho::filter::baseline
