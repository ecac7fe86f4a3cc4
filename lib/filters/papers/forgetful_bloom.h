// SPDX-License-Identifier: BSD-3-Clause
// Forgetful Bloom filter: three Bloom filters, future, present and past. An insertion goes to
// future and present. When a generation turns ("refresh"), the past is dropped, the present becomes
// the past, the future becomes the present, and an empty filter the future.
//
// A digest matches if future and present match, or present and past, or the past alone. The second
// condition is part of the third. A digest inserted in this generation is in future and present,
// one of the previous generation in present and past, one of the generation before only in past.
//
// Guarantee: a digest inserted in generation j is an echo through generation j + 2; from j + 3 on
//   (and without another insertion) it is new, except for false positives. Generations turn by
//   advance() alone.
// Cost: an insertion touches 2k cache lines, a query of a new digest about 4. 3 m bits.
// Accuracy: p + (1 - p) p' p", the rates of Bloom filters with the digests of past (two
//   generations), present (the previous one and this) and future (this): sizing::forgetful_rate.
//   All digests of the future are also in the present. With the same hash functions the present
//   would match whenever the future does, so each of the three filters has its own.
// Weakness: the past alone has the false positives of a whole Bloom filter; each digest is in two
//   of the three filters.
// References: Subramanyam, Gupta, Leslie, Wang, Idempotent Distributed Counters Using a Forgetful
//   Bloom Filter, Cluster Computing 19(2), 2016 (the basic FBF, with its three rules of membership;
//   not the one with more pasts, nor its adaptive refresh rate).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/papers/bloom.h"
#include "filters/papers/sliding.h"

namespace unecho::filter::baseline {

class ForgetfulBloom {
  public:
    // params.m(): bits of each of the three filters.
    [[nodiscard]] static std::size_t bytes(const BloomParams& params) noexcept {
        return 3 * Bloom::bytes(params);
    }

    ForgetfulBloom(const BloomParams& params, std::span<std::byte> memory) noexcept
        : params_(params),
          filters_{Bloom(params, memory, 0, 0), Bloom(params, memory, Bloom::bytes(params), 1),
                   Bloom(params, memory, 2 * Bloom::bytes(params), 2)} {}

    void prefetch(Digest digest) const noexcept {
        for (const Bloom& filter : filters_) {
            filter.prefetch(digest);
        }
    }
    [[nodiscard]] bool query(Digest digest) const noexcept {
        return filters_[past()].query(digest) ||
               (filters_[future_].query(digest) && filters_[present()].query(digest));
    }
    void insert(Digest digest) noexcept {
        filters_[future_].insert(digest);
        filters_[present()].insert(digest);
        ++counters_.insertions;
    }
    bool test_and_insert(Digest digest) noexcept { return query_then_insert(*this, digest); }
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept {
        return test_in_order(*this, digests);
    }
    void advance(Moment moment) noexcept {
        for (unsigned left = generation_.advance(moment, 3, counters_); left > 0; --left) {
            future_ = past();
            filters_[future_].clear();
            ++counters_.inline_clears;
        }
    }
    void clear() noexcept {
        for (Bloom& filter : filters_) {
            filter.clear();
        }
    }

    [[nodiscard]] const BloomParams& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }

  private:
    [[nodiscard]] unsigned present() const noexcept { return (future_ + 1) % 3; }
    [[nodiscard]] unsigned past() const noexcept { return (future_ + 2) % 3; }

    BloomParams params_;
    Bloom filters_[3];
    unsigned future_ = 0;
    Generation generation_;
    FilterCounters counters_;
};

static_assert(SlidingFilter<ForgetfulBloom>);

}  // namespace unecho::filter::baseline
