// SPDX-License-Identifier: BSD-3-Clause
// Growing Bloom filter: a chain of equal Bloom filters in memory that is allocated at the start.
// New digests go to the youngest filter until it is full; then the next begins. It never forgets.
//
// Guarantee: an inserted digest is an echo, however many are inserted. When the last filter is
//   full, it still takes insertions and counts them (overfull): no false negatives, but a higher
//   false-positive rate than planned.
// Cost: a query reads the filters in use, youngest first, with one or two cache lines in each that
//   does not match; an insertion touches k. filters * m bits, each filter in whole cache lines.
// Accuracy: P for each full filter, if limit is the capacity or density for P
//   (filters/sizing/sets/slicing.h); 1 - (1 - P)^F for F of them. By cardinality a filter takes
//   exactly `limit` insertions. By density it takes insertions until more than `limit` of its bits
//   are set, which is at most k more.
// Weakness: cost and false positives grow with the number of filters; by cardinality a digest that
//   is insert()ed twice counts twice.
// References: One is enough: distributed filtering for duplicate elimination, section 5 (dynamic
//   growth by density and by cardinality).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "filters/hash/digest.h"
#include "filters/sets/slices.h"
#include "filters/storage.h"

namespace unecho::filter {

inline constexpr unsigned kMaxGrownFilters = 4096;

enum class GrowBy : std::uint8_t { kDensity, kCardinality };

struct GrowingSpec {
    unsigned k = 0;        // bits of a key
    std::uint64_t m = 0;   // bits of each filter
    unsigned filters = 1;  // that fit into the memory
    GrowBy by = GrowBy::kCardinality;
    // kDensity: set bits with which a filter still takes a digest (the paper's z). kCardinality:
    // insertions that a filter takes.
    std::uint64_t limit = 0;
};

class GrowingParams {
  public:
    static Result<GrowingParams> make(const GrowingSpec& spec);

    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] std::uint64_t m() const noexcept { return spec_.m; }
    [[nodiscard]] unsigned filters() const noexcept { return spec_.filters; }
    [[nodiscard]] GrowBy by() const noexcept { return spec_.by; }
    [[nodiscard]] std::uint64_t limit() const noexcept { return spec_.limit; }

  private:
    explicit GrowingParams(const GrowingSpec& spec) noexcept : spec_(spec) {}
    GrowingSpec spec_;
};

struct GrowingCounters {
    std::uint64_t insertions = 0;
    std::uint64_t overfull = 0;  // of these, into a full filter because there was no other
};

class GrowingFilter {
  public:
    // Memory of the filter; line-aligned, zeroed.
    [[nodiscard]] static std::size_t bytes(const GrowingParams& params) noexcept {
        return params.filters() * bytes_for_bits(params.m());
    }

    GrowingFilter(const GrowingParams& params, std::span<std::byte> memory) noexcept;

    [[nodiscard]] bool query(Digest digest) const noexcept { return matches(Bits(*this, digest)); }
    void insert(Digest digest) noexcept { write(Bits(*this, digest)); }
    bool test_and_insert(Digest digest) noexcept;
    // Forget everything and start again with one filter.
    void clear() noexcept;

    [[nodiscard]] const GrowingParams& params() const noexcept { return params_; }
    [[nodiscard]] const GrowingCounters& counters() const noexcept { return counters_; }
    // Number of filters in use, and contents of the youngest.
    [[nodiscard]] unsigned filters() const noexcept { return used_; }
    [[nodiscard]] std::uint64_t youngest_insertions() const noexcept { return insertions_; }
    [[nodiscard]] std::uint64_t youngest_set_bits() const noexcept { return set_bits_; }

  private:
    // The bits of a digest, which are the same in every filter.
    struct Bits {
        Bits(const GrowingFilter& filter, Digest digest) noexcept;
        std::array<std::uint64_t, kMaxSlicedHashes> bits;
    };

    [[nodiscard]] bool full() const noexcept {
        return params_.by() == GrowBy::kDensity ? set_bits_ > params_.limit()
                                                : insertions_ >= params_.limit();
    }
    [[nodiscard]] std::byte* filter(unsigned index) const noexcept {
        return memory_.data() + index * bytes_for_bits(params_.m());
    }
    [[nodiscard]] bool matches(const Bits& bits) const noexcept;
    void write(const Bits& bits) noexcept;

    GrowingParams params_;
    std::span<std::byte> memory_;
    unsigned used_ = 1;
    std::uint64_t insertions_ = 0;
    std::uint64_t set_bits_ = 0;
    GrowingCounters counters_;
};

}  // namespace unecho::filter
