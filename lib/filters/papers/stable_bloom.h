// SPDX-License-Identifier: BSD-3-Clause
// Stable Bloom filter: m cells with values up to Max. An insertion decrements each of P cells, then
// sets the k cells of the digest to Max. A query tests whether all k are above 0. Digests fade
// away, and the share of zeros becomes stable.
//
// Guarantee: only that a digest matches until the next insertion. There is no window: a digest may
//   be forgotten at any later time (a false negative), and is never certainly forgotten. The
//   interface is that of a sliding filter so that the same programs can run it; advance() does
//   nothing. The paper inserts every arrival, also an echo: EchoPolicy::kRefresh.
// Cost: an insertion touches k cache lines and one or two for P adjacent cells; the paper, too,
//   uses adjacent cells for P random ones. d m bits; d is the least of 1, 2, 4, 8 that holds Max.
// Accuracy: in the stable state a cell is 0 with probability (1 / (1 + 1/(P (1/k - 1/m))))^Max, and
//   foreign digests match with (1 - that)^k (sizing::stable_rate).
// Weakness: false negatives. A lower false-positive rate means a shorter memory.
// References: Deng, Rafiei, Approximately Detecting Duplicates for Streaming Data using Stable
//   Bloom Filters, SIGMOD 2006. K there is k here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/papers/cells.h"
#include "filters/papers/sliding.h"
#include "filters/papers/spec.h"

namespace unecho::filter::baseline {

struct StableSpec {
    std::uint64_t m = 0;     // cells
    unsigned k = 0;          // cells of a digest
    unsigned max = 0;        // value to which an insertion sets them, 1 to 255
    std::uint64_t P = 0;     // cells that an insertion decrements
    std::uint64_t seed = 0;  // for the choice of these cells
    EchoPolicy policy = EchoPolicy::kRefresh;
};

class StableParams {
  public:
    static Result<StableParams> make(const StableSpec& spec);

    [[nodiscard]] std::uint64_t m() const noexcept { return spec_.m; }
    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] unsigned max() const noexcept { return spec_.max; }
    [[nodiscard]] std::uint64_t P() const noexcept { return spec_.P; }
    [[nodiscard]] std::uint64_t seed() const noexcept { return spec_.seed; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }
    // Return the bits of a cell.
    [[nodiscard]] unsigned d() const noexcept {
        return spec_.max < 2 ? 1 : spec_.max < 4 ? 2 : spec_.max < 16 ? 4 : 8;
    }

  private:
    explicit StableParams(const StableSpec& spec) noexcept : spec_(spec) {}
    StableSpec spec_;
};

class StableBloom {
  public:
    [[nodiscard]] static std::size_t bytes(const StableParams& params) noexcept {
        return Cells::bytes(params.m(), params.d());
    }

    StableBloom(const StableParams& params, std::span<std::byte> memory) noexcept
        : params_(params), cells_(params.m(), params.d(), memory) {}

    void prefetch(Digest digest) const noexcept {
        const Positions positions(digest);
        for (unsigned i = 0; i < params_.k(); ++i) {
            cells_.prefetch(positions.at(i, params_.m()));
        }
    }
    [[nodiscard]] bool query(Digest digest) const noexcept {
        const Positions positions(digest);
        for (unsigned i = 0; i < params_.k(); ++i) {
            if (cells_.get(positions.at(i, params_.m())) == 0) {
                return false;
            }
        }
        return true;
    }
    void insert(Digest digest) noexcept {
        fade();
        const Positions positions(digest);
        for (unsigned i = 0; i < params_.k(); ++i) {
            cells_.put(positions.at(i, params_.m()), params_.max());
        }
        ++counters_.insertions;
    }
    bool test_and_insert(Digest digest) noexcept { return query_then_insert(*this, digest); }
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept {
        return test_in_order(*this, digests);
    }
    void advance(Moment /*moment*/) noexcept {}
    void clear() noexcept { cells_.clear(); }

    [[nodiscard]] const StableParams& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }

  private:
    // Decrement P adjacent cells from a random one on, wrapping around at the end.
    void fade() noexcept {
        const std::uint64_t m = params_.m();
        std::uint64_t cell = reduce(remix(params_.seed(), counters_.insertions), m);
        for (std::uint64_t left = params_.P(); left > 0; --left) {
            const std::uint64_t value = cells_.get(cell);
            cells_.put(cell, value == 0 ? 0 : value - 1);
            cell = cell + 1 == m ? 0 : cell + 1;
        }
    }

    StableParams params_;
    Cells cells_;
    FilterCounters counters_;
};

static_assert(SlidingFilter<StableBloom>);

}  // namespace unecho::filter::baseline
