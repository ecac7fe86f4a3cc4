// SPDX-License-Identifier: BSD-3-Clause
// Sliced Bloom filter: one Bloom filter over S slices, each in the memory of a site, cut
// horizontally, vertically or diced. Slices may fail. Messages are counted as a network of sites
// would send them. The filter never forgets.
//
// Guarantee: an inserted digest is an echo if no slice failed, or with FailedCells::kSet, whatever
//   slices failed after the insertion. (A slice that was failed during an insertion and is restored
//   later lacks its bits.)
// Cost: an operation sends one message to each live slice that holds one of the key's k bits: 1
//   when horizontal, S (1 - (1 - 1/S)^k) on average when vertical (S' or S of them when diced h-v
//   or v-h). The same message tests and sets. m bits in all.
// Accuracy: with n keys (1 - (1 - 1/m)^(kn))^k vertically; horizontally the mean over the binomial
//   load of a slice of (1 - (1 - S/m)^(ki))^k. With f failed slices (f/S + (1 - f/S) p)^k
//   vertically, where p is the fill, and f/S + (1 - f/S) P horizontally:
//   filters/sizing/sets/slicing.h.
// Weakness: horizontal slices lose all of a key at once, vertical ones cost more messages.
// References: One is enough: distributed filtering for duplicate elimination, section 3 (slicing;
//   3.2: failures, and the heuristic of x of k bits).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "base/result.h"
#include "filters/hash/digest.h"
#include "filters/sets/slices.h"

namespace unecho::filter {

struct SlicedSpec {
    SliceGeometry geometry{};  // cells are bits
    FailedCells failed = FailedCells::kSet;
    unsigned x = 0;  // for FailedCells::kAtLeast
};

class SlicedParams {
  public:
    static Result<SlicedParams> make(const SlicedSpec& spec);

    [[nodiscard]] const SliceGeometry& geometry() const noexcept { return spec_.geometry; }
    [[nodiscard]] unsigned needed() const noexcept {
        return needed_live(spec_.failed, spec_.geometry.k, spec_.x);
    }

  private:
    explicit SlicedParams(const SlicedSpec& spec) noexcept : spec_(spec) {}
    SlicedSpec spec_;
};

struct SlicedCounters {
    std::uint64_t insertions = 0;  // digests written
    std::uint64_t messages = 0;    // to slices, by all operations
};

class SlicedFilter {
  public:
    // Memory of each slice; must be zeroed.
    [[nodiscard]] static std::size_t slice_bytes(const SlicedParams& params) noexcept {
        return (params.geometry().cells_per_slice() + 7) / 8;
    }

    // `slices` are S S' slices that the caller keeps for the filter's life.
    SlicedFilter(const SlicedParams& params, std::span<Slice> slices) noexcept;

    // The bits of a digest that can be reached, and how many of them are set.
    struct Probe {
        unsigned live = 0;
        unsigned set = 0;
    };
    [[nodiscard]] Probe probe(Digest digest) const noexcept { return probe(map_.places(digest)); }

    // Return true for an echo: enough bits of the digest are live, and no live one is 0.
    bool query(Digest digest) noexcept;
    void insert(Digest digest) noexcept;
    bool test_and_insert(Digest digest) noexcept;
    // Forget everything, also in failed slices.
    void clear() noexcept;

    // A failed slice is neither read nor written. A restored slice has its old bits.
    void fail(unsigned slice) noexcept { slices_[slice].failed = true; }
    void restore(unsigned slice) noexcept { slices_[slice].failed = false; }

    [[nodiscard]] const SlicedParams& params() const noexcept { return params_; }
    [[nodiscard]] std::span<const Slice> slices() const noexcept { return slices_; }
    [[nodiscard]] const SlicedCounters& counters() const noexcept { return counters_; }

  private:
    [[nodiscard]] Probe probe(const CellPlaces& places) const noexcept;
    [[nodiscard]] bool is_echo(const CellPlaces& places) const noexcept;
    void set(const CellPlaces& places) noexcept;

    SlicedParams params_;
    SliceMap map_;
    std::span<Slice> slices_;
    SlicedCounters counters_;
};

}  // namespace unecho::filter
