// SPDX-License-Identifier: BSD-3-Clause
// Two filters in turn. The younger one takes the insertions of this generation, the older one has
// those of the previous generation, and both answer. When a generation turns, the older one is
// cleared and becomes the younger. Instances: a2_buffering.h and rotating_blocked.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/papers/sliding.h"

namespace unecho::filter::baseline {

template <typename Filter, typename ParamsType>
class RotatingPair {
  public:
    using Params = ParamsType;

    // params.m(): bits of each of the two filters.
    [[nodiscard]] static std::size_t bytes(const Params& params) noexcept {
        return 2 * Filter::bytes(params);
    }

    RotatingPair(const Params& params, std::span<std::byte> memory) noexcept
        : params_(params),
          filters_{Filter(params, memory), Filter(params, memory, Filter::bytes(params))} {}

    void prefetch(Digest digest) const noexcept {
        filters_[0].prefetch(digest);
        filters_[1].prefetch(digest);
    }
    [[nodiscard]] bool query(Digest digest) const noexcept {
        return filters_[younger_].query(digest) || filters_[1 - younger_].query(digest);
    }
    void insert(Digest digest) noexcept {
        filters_[younger_].insert(digest);
        ++counters_.insertions;
    }
    bool test_and_insert(Digest digest) noexcept { return query_then_insert(*this, digest); }
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept {
        return test_in_order(*this, digests);
    }
    void advance(Moment moment) noexcept {
        for (unsigned left = generation_.advance(moment, 2, counters_); left > 0; --left) {
            younger_ = 1 - younger_;
            filters_[younger_].clear();
            ++counters_.inline_clears;
        }
    }
    void clear() noexcept {
        filters_[0].clear();
        filters_[1].clear();
    }

    [[nodiscard]] const Params& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }

  private:
    Params params_;
    Filter filters_[2];
    unsigned younger_ = 0;
    Generation generation_;
    FilterCounters counters_;
};

}  // namespace unecho::filter::baseline
