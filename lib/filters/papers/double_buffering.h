// SPDX-License-Identifier: BSD-3-Clause
// Double buffering: an active Bloom filter, which answers, and a warm-up filter, which does not
// yet. Both take every insertion. When a generation turns, the warm-up filter becomes the active
// one, and the old active one is cleared to warm up.
//
// Guarantee: a digest inserted in generation j is an echo through generation j + 1; from j + 2 on
//   (and without another insertion) it is new, except for false positives. With generations of g
//   insertions the active filter holds at most W = 2g: always the last W/2, never more than W.
//   Generations turn by advance() alone; for a window by count advance() to insertions / g.
// Cost: an insertion touches 2k cache lines, a query those of one Bloom filter. 2 m bits.
// Accuracy: that of a Bloom filter with the active digests: g just after a shift, 2g just before
//   the next (sizing::double_buffering_rate).
// Weakness: half of the memory never answers; the window varies between W/2 and W; a shift clears m
//   bits at once.
// References: Chang, Feng, Li, Approximate Caches for Packet Classification, INFOCOM 2004. There
//   the active is full after W insertions and the warm-up starts when it is half full: the same
//   contents, for after the first generation they turn every W/2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/papers/bloom.h"
#include "filters/papers/sliding.h"

namespace unecho::filter::baseline {

class DoubleBuffering {
  public:
    // params.m(): bits of each of the two filters.
    [[nodiscard]] static std::size_t bytes(const BloomParams& params) noexcept {
        return 2 * Bloom::bytes(params);
    }

    DoubleBuffering(const BloomParams& params, std::span<std::byte> memory) noexcept
        : params_(params),
          filters_{Bloom(params, memory), Bloom(params, memory, Bloom::bytes(params))} {}

    void prefetch(Digest digest) const noexcept {
        filters_[0].prefetch(digest);
        filters_[1].prefetch(digest);
    }
    [[nodiscard]] bool query(Digest digest) const noexcept {
        return filters_[active_].query(digest);
    }
    void insert(Digest digest) noexcept {
        filters_[0].insert(digest);
        filters_[1].insert(digest);
        ++counters_.insertions;
    }
    bool test_and_insert(Digest digest) noexcept { return query_then_insert(*this, digest); }
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept {
        return test_in_order(*this, digests);
    }
    void advance(Moment moment) noexcept {
        for (unsigned left = generation_.advance(moment, 2, counters_); left > 0; --left) {
            filters_[active_].clear();
            active_ = 1 - active_;
            ++counters_.inline_clears;
        }
    }
    void clear() noexcept {
        filters_[0].clear();
        filters_[1].clear();
    }

    [[nodiscard]] const BloomParams& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }

  private:
    BloomParams params_;
    Bloom filters_[2];
    unsigned active_ = 0;
    Generation generation_;
    FilterCounters counters_;
};

static_assert(SlidingFilter<DoubleBuffering>);

}  // namespace unecho::filter::baseline
