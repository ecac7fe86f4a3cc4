// SPDX-License-Identifier: BSD-3-Clause
// Stable Bloom filter: m cells with values up to Max. An insertion takes 1 from each of P cells,
// then sets the k cells of the digest to Max; a query asks whether all k are above 0. Digests fade
// away, and the share of zeroes settles.
//
// Guarantee: none but that an insertion matches until the next one. No window: a digest may be
//   forgotten at any time after (a false negative) and is not surely gone ever. It has the
//   interface of a sliding filter so that the same programs drive it; advance() does nothing. The
//   paper inserts every arrival, also an echo: EchoPolicy::kRefresh.
// Cost: an insertion touches k cache lines and those of P cells in a row, one or two; the paper,
//   too, takes a row for P random cells. d m bits, d = 1, 2, 4 or 8 the least that
//   hold Max.
// Accuracy: in the stable state a cell is 0 with probability (1 / (1 + 1/(P (1/k - 1/m))))^Max,
//   and foreign digests match with (1 - that)^k (sizing::stable_rate).
// Weakness: false negatives. The lower the false-positive rate, the shorter the memory.
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
    unsigned k = 0;          // of them, those of a digest
    unsigned max = 0;        // what an insertion sets them to, 1 to 255
    std::uint64_t P = 0;     // cells that an insertion takes 1 from
    std::uint64_t seed = 0;  // of the choice of these
    EchoPolicy policy = EchoPolicy::kRefresh;
};

// A spec that was checked.
class StableParams {
  public:
    static Result<StableParams> make(const StableSpec& spec);

    [[nodiscard]] std::uint64_t m() const noexcept { return spec_.m; }
    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] unsigned max() const noexcept { return spec_.max; }
    [[nodiscard]] std::uint64_t P() const noexcept { return spec_.P; }
    [[nodiscard]] std::uint64_t seed() const noexcept { return spec_.seed; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }
    // Bits of a cell.
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
    // Takes 1 from each of P cells from a random one on, round the end.
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
