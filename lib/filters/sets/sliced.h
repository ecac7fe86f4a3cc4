// SPDX-License-Identifier: BSD-3-Clause
// One Bloom filter over S slices, each the memory of a site: horizontal, vertical or diced. Slices
// may fail; messages are counted as a network of sites would send them. It never forgets.
//
// Guarantee: with no slice failed, or with FailedCells::kSet and whatever slices failed after the
//   insertion, an inserted digest is an echo. (A slice that was failed during an insertion and is
//   restored later lacks that insertion's bits.)
// Cost: an operation sends one message to each live slice that holds one of the key's k bits: 1
//   when horizontal, S (1 - (1 - 1/S)^k) on average when vertical (S' or S of them when diced h-v
//   or v-h). Testing and setting travel in the same message. m bits in all.
// Accuracy: with n keys (1 - (1 - 1/m)^(kn))^k vertically; horizontally the mean over the binomial
//   load of a slice of (1 - (1 - S/m)^(ki))^k. With f failed slices (f/S + (1 - f/S) p)^k
//   vertically, p being the fill, and f/S + (1 - f/S) P horizontally:
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

// A spec that was checked.
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
    // What the memory of each slice must hold, zeroed.
    [[nodiscard]] static std::size_t slice_bytes(const SlicedParams& params) noexcept {
        return (params.geometry().cells_per_slice() + 7) / 8;
    }

    // S S' slices; they stay the caller's, who keeps them for the filter's life.
    SlicedFilter(const SlicedParams& params, std::span<Slice> slices) noexcept;

    // The bits of a digest that can be reached, and how many of these are set.
    struct Probe {
        unsigned live = 0;
        unsigned set = 0;
    };
    [[nodiscard]] Probe probe(Digest digest) const noexcept { return probe(map_.places(digest)); }

    // An echo is a digest none of whose live bits is 0, if enough of them are live.
    bool query(Digest digest) noexcept;
    void insert(Digest digest) noexcept;
    bool test_and_insert(Digest digest) noexcept;
    // Forgets everything, in failed slices too.
    void clear() noexcept;

    // A failed slice is neither asked nor written. Restored, it has the bits it had.
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
