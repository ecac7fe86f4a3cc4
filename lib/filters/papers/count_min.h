// SPDX-License-Identifier: BSD-3-Clause
// Count-Min sketch: d rows of w counters. A digest has one counter in each row, and the least of
// them is the estimate of its count. Conservative update raises only those below the new estimate.
//
// Guarantee: an estimate is never below the true count. Cost: d cache lines for any operation. 32 w
//   d bits. Accuracy: for a total count N, an estimate exceeds the true count by more than (e / w)
//   N with probability at most e^-d (sizing::count_min_error, count_min_failure). If n other
//   digests count 1 each, the excess is above j with probability (P(Binomial(n, 1/w) > j))^d
//   (sizing::count_min_exceeds). Conservative update is never worse.
// Weakness: the bound is relative to the total count, which says little about rare digests.
// References: Cormode, Muthukrishnan, An Improved Data Stream Summary: The Count-Min Sketch and its
//   Applications, J. Algorithms 55(1), 2005. Estan, Varghese, New Directions in Traffic Measurement
//   and Accounting, SIGCOMM 2002 (conservative update). Shifting Bloom Filter, section 5, compares
//   ShBF_X with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "filters/hash/digest.h"
#include "filters/papers/cells.h"
#include "filters/papers/counters.h"

namespace unecho::filter::baseline {

struct CountMinSpec {
    std::uint64_t w = 0;  // counters of a row
    unsigned d = 0;       // rows
    bool conservative = false;
};

class CountMinParams {
  public:
    static Result<CountMinParams> make(const CountMinSpec& spec);

    [[nodiscard]] std::uint64_t w() const noexcept { return spec_.w; }
    [[nodiscard]] unsigned d() const noexcept { return spec_.d; }
    [[nodiscard]] bool conservative() const noexcept { return spec_.conservative; }

  private:
    explicit CountMinParams(const CountMinSpec& spec) noexcept : spec_(spec) {}
    CountMinSpec spec_;
};

class CountMin {
  public:
    [[nodiscard]] static std::size_t bytes(const CountMinParams& params) noexcept {
        return Counters::bytes(params.w() * params.d());
    }

    CountMin(const CountMinParams& params, std::span<std::byte> memory) noexcept
        : params_(params), counters_(params.w() * params.d(), memory) {}

    void prefetch(Digest digest) const noexcept {
        const Positions positions(digest);
        for (unsigned row = 0; row < params_.d(); ++row) {
            counters_.prefetch(counter_of(positions, row));
        }
    }
    [[nodiscard]] Count estimate(Digest digest) const noexcept {
        return least_of(Positions(digest));
    }
    void insert(Digest digest, Count count = 1) noexcept {
        const Positions positions(digest);
        if (params_.conservative()) {
            const Count raised = saturating_sum(least_of(positions), count);
            for (unsigned row = 0; row < params_.d(); ++row) {
                Count& counter = counters_[counter_of(positions, row)];
                counter = std::max(counter, raised);
            }
        } else {
            for (unsigned row = 0; row < params_.d(); ++row) {
                Count& counter = counters_[counter_of(positions, row)];
                counter = saturating_sum(counter, count);
            }
        }
    }
    void clear() noexcept { counters_.clear(); }

    [[nodiscard]] const CountMinParams& params() const noexcept { return params_; }

  private:
    [[nodiscard]] std::uint64_t counter_of(const Positions& positions,
                                           unsigned row) const noexcept {
        return row * params_.w() + positions.at(row, params_.w());
    }
    [[nodiscard]] Count least_of(const Positions& positions) const noexcept {
        Count least = kMaxCount;
        for (unsigned row = 0; row < params_.d(); ++row) {
            least = std::min(least, counters_[counter_of(positions, row)]);
        }
        return least;
    }

    CountMinParams params_;
    Counters counters_;
};

}  // namespace unecho::filter::baseline
