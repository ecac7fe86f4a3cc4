// SPDX-License-Identifier: BSD-3-Clause
// One filter spread over slices: the map from keys to slices and cells, and the slices themselves.
// Cells are bits or timers; nothing here knows their contents, and nothing is owned.
//
// With S slices of m / S cells each:
//   horizontal  all k cells of a key lie in the slice that the key's hash names;
//   vertical    the m cells are cut into S ranges; each of a key's cells may lie in any of them;
//   diced h-v   first horizontally into S groups, then each vertically into S' slices;
//   diced v-h   first vertically into S ranges, then each horizontally into S' slices: a key's
//               cells may lie in any range, and there in the slice that the key's hash names.
// References: One is enough: distributed filtering for duplicate elimination, section 3.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/int128.h"
#include "filters/hash/digest.h"

namespace unecho::filter {

inline constexpr unsigned kMaxSlicedHashes = 64;
inline constexpr unsigned kMaxSlices = 1U << 16;

enum class Slicing : std::uint8_t { kHorizontal, kVertical, kDicedHv, kDicedVh };

struct SliceGeometry {
    Slicing slicing = Slicing::kHorizontal;
    unsigned k = 0;       // cells of a key
    std::uint64_t m = 0;  // cells in all slices together, a multiple of their number
    unsigned S = 1;
    unsigned S2 = 1;  // the paper's S'; more than 1 only when diced

    [[nodiscard]] constexpr unsigned slices() const noexcept { return S * S2; }
    [[nodiscard]] constexpr std::uint64_t cells_per_slice() const noexcept { return m / slices(); }
};

// The contribution of a site: memory for its cells, and whether the site can be reached.
struct Slice {
    std::span<std::byte> memory{};
    bool failed = false;
    std::uint64_t accesses = 0;  // cells accessed here; an operation accesses k in all
};

struct CellPlace {
    unsigned slice;
    std::uint64_t cell;

    friend bool operator==(const CellPlace&, const CellPlace&) = default;
};

// The cells of a digest. The array is not initialised: only added entries are read.
class CellPlaces {
  public:
    void add(CellPlace place) noexcept { places_[size_++] = place; }
    [[nodiscard]] const CellPlace* begin() const noexcept { return places_.data(); }
    [[nodiscard]] const CellPlace* end() const noexcept { return places_.data() + size_; }

  private:
    std::array<CellPlace, kMaxSlicedHashes> places_;
    unsigned size_ = 0;
};

// Maps digests to cells. Salts 1..k of remix() draw the cells, salt 0 names the slice.
class SliceMap {
  public:
    explicit SliceMap(const SliceGeometry& geometry) noexcept
        : k_(geometry.k),
          cells_(geometry.cells_per_slice()),
          named_(named_by_key(geometry.slicing) ? geometry.S : geometry.S2),
          spread_(named_by_key(geometry.slicing) ? geometry.S2 : geometry.S),
          named_stride_(named_by_key(geometry.slicing) ? geometry.S2 : 1),
          spread_stride_(named_by_key(geometry.slicing) ? 1 : geometry.S2) {}

    // Return the cells of a digest. Slices are numbered with S' as the inner index. The high part
    // of a hash picks the slice, and the rest the cell in it. So all slices of one name, which are
    // adjacent, form a plain filter of as many cells.
    [[nodiscard]] CellPlaces places(Digest digest) const noexcept {
        const auto name = static_cast<unsigned>(reduce(remix(digest, 0), named_)) * named_stride_;
        CellPlaces places;
        for (unsigned i = 1; i <= k_; ++i) {
            const uint128 product = static_cast<uint128>(remix(digest, i)) * spread_;
            const auto range = static_cast<unsigned>(product >> 64);
            places.add({name + range * spread_stride_,
                        reduce(static_cast<std::uint64_t>(product), cells_)});
        }
        return places;
    }

  private:
    // Return true if the outer cut is the horizontal one.
    static constexpr bool named_by_key(Slicing slicing) noexcept {
        return slicing == Slicing::kHorizontal || slicing == Slicing::kDicedHv;
    }

    unsigned k_;
    std::uint64_t cells_;
    unsigned named_;
    unsigned spread_;
    unsigned named_stride_;
    unsigned spread_stride_;
};

// Count the messages of an operation: one to each reachable slice, however many cells it accesses
// there. Also count the accesses.
inline unsigned contact(const CellPlaces& places, std::span<Slice> slices) noexcept {
    unsigned messages = 0;
    for (const CellPlace* place = places.begin(); place != places.end(); ++place) {
        Slice& slice = slices[place->slice];
        if (slice.failed) {
            continue;
        }
        ++slice.accesses;
        const CellPlace* first = places.begin();
        while (first->slice != place->slice) {
            ++first;
        }
        messages += first == place ? 1 : 0;
    }
    return messages;
}

// Treatment of cells that cannot be reached.
enum class FailedCells : std::uint8_t {
    kSet,      // as if they matched: no false negatives, more false positives
    kUnset,    // as if they did not match: fewer false positives, but false negatives
    kAtLeast,  // ignored if at least x of the key's cells can be reached, else as kUnset
};

// Return the cells of a key that must be reached for an echo.
[[nodiscard]] constexpr unsigned needed_live(FailedCells failed, unsigned k, unsigned x) noexcept {
    if (failed == FailedCells::kAtLeast) {
        return x;
    }
    return failed == FailedCells::kSet ? 0 : k;
}

}  // namespace unecho::filter
