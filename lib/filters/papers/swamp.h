// SPDX-License-Identifier: BSD-3-Clause
// SWAMP: the fingerprints of the last W insertions in a cyclic buffer, and a table that counts how
// often each occurs there. An insertion removes the oldest fingerprint from both.
//
// Guarantee: a digest among the last W insertions is an echo; any other is new, except for equal
//   fingerprints. The window counts insertions and has no slack at all; advance() does nothing. The
//   paper inserts every arrival, also an echo (EchoPolicy::kRefresh): then the window is the last W
//   arrivals. With kFixed it is the last W new digests.
// Cost: about 4 cache lines an insertion (buffer, two table entries and those that they displace),
//   one a query. The buffer has 4 bytes a fingerprint. The table, with open addressing and a load
//   of at most 3/4, has 8 an entry: about 117 bits a digest. The paper packs fingerprints to f bits
//   and counts in TinyTable, which is smaller and slower; the answers are the same.
// Accuracy: a foreign digest equals one of W fingerprints of f bits with probability at most W
//   2^-f, for distinct ones 1 - (1 - 2^-f)^W (sizing::swamp_rate).
// Weakness: memory and memory accesses.
// References: Assaf, Ben Basat, Einziger, Friedman, Pay for a Sliding Bloom Filter and Get
//   Counting, Distinct Elements, and Entropy for Free, INFOCOM 2018.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/prefetch.h"
#include "base/result.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/papers/sliding.h"
#include "filters/storage.h"

namespace unecho::filter::baseline {

struct SwampSpec {
    std::uint64_t W = 0;  // insertions of the window
    unsigned f = 0;       // bits of a fingerprint
    EchoPolicy policy = EchoPolicy::kRefresh;
};

class SwampParams {
  public:
    static Result<SwampParams> make(const SwampSpec& spec);

    [[nodiscard]] std::uint64_t W() const noexcept { return spec_.W; }
    [[nodiscard]] unsigned f() const noexcept { return spec_.f; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }
    // One more than a load of 3/4 needs, so that a free entry always ends a search.
    [[nodiscard]] std::uint64_t entries() const noexcept { return (4 * spec_.W + 2) / 3 + 1; }

  private:
    explicit SwampParams(const SwampSpec& spec) noexcept : spec_(spec) {}
    SwampSpec spec_;
};

class Swamp {
  public:
    [[nodiscard]] static std::size_t bytes(const SwampParams& params) noexcept {
        return buffer_bytes(params) + align_to_line(params.entries() * sizeof(Entry));
    }

    Swamp(const SwampParams& params, std::span<std::byte> memory) noexcept
        : params_(params),
          entries_(params.entries()),
          buffer_(carve<Fingerprint>(memory, 0, params.W())),
          table_(carve<Entry>(memory, buffer_bytes(params), params.entries())) {
        UNECHO_ASSERT(line_aligned(memory));
    }

    void prefetch(Digest digest) const noexcept {
        prefetch_line_for_write(&table_[home_of(fingerprint_of(digest))]);
    }
    [[nodiscard]] bool query(Digest digest) const noexcept { return frequency(digest) > 0; }
    void insert(Digest digest) noexcept;
    bool test_and_insert(Digest digest) noexcept { return query_then_insert(*this, digest); }
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept {
        return test_in_order(*this, digests);
    }
    void advance(Moment /*moment*/) noexcept {}
    void clear() noexcept {
        std::memset(table_, 0, entries_ * sizeof(Entry));
        next_ = 0;
        held_ = 0;
        distinct_ = 0;
    }

    // Return how often the digest, or another with its fingerprint, is among the last W insertions.
    [[nodiscard]] std::uint32_t frequency(Digest digest) const noexcept {
        return table_[find(fingerprint_of(digest))].count;
    }
    // Return the number of distinct fingerprints in the window.
    [[nodiscard]] std::uint64_t distinct() const noexcept { return distinct_; }

    [[nodiscard]] const SwampParams& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }

  private:
    using Fingerprint = std::uint32_t;
    // Free if and only if its count is 0. No entry from a fingerprint's home to its own is free.
    struct Entry {
        Fingerprint fingerprint;
        std::uint32_t count;
    };

    [[nodiscard]] static std::size_t buffer_bytes(const SwampParams& params) noexcept {
        return align_to_line(params.W() * sizeof(Fingerprint));
    }
    [[nodiscard]] Fingerprint fingerprint_of(Digest digest) const noexcept {
        return static_cast<Fingerprint>(remix(digest, 1) >> (64 - params_.f()));
    }
    [[nodiscard]] std::uint64_t home_of(Fingerprint fingerprint) const noexcept {
        return reduce(remix(fingerprint, 2), entries_);
    }
    [[nodiscard]] std::uint64_t after(std::uint64_t entry) const noexcept {
        return entry + 1 == entries_ ? 0 : entry + 1;
    }
    // Return its entry, or the free one where it belongs.
    [[nodiscard]] std::uint64_t find(Fingerprint fingerprint) const noexcept {
        std::uint64_t entry = home_of(fingerprint);
        while (table_[entry].count != 0 && table_[entry].fingerprint != fingerprint) {
            entry = after(entry);
        }
        return entry;
    }
    void forget(Fingerprint fingerprint) noexcept;
    void close_gap(std::uint64_t gap) noexcept;

    SwampParams params_;
    std::uint64_t entries_;
    Fingerprint* buffer_;
    Entry* table_;
    std::uint64_t next_ = 0;  // position of the buffer's oldest, where the next one is written
    std::uint64_t held_ = 0;  // fingerprints in the buffer
    std::uint64_t distinct_ = 0;
    FilterCounters counters_;
};

static_assert(SlidingFilter<Swamp>);

inline void Swamp::insert(Digest digest) noexcept {
    if (held_ == params_.W()) {
        forget(buffer_[next_]);
    } else {
        ++held_;
    }
    const Fingerprint fingerprint = fingerprint_of(digest);
    buffer_[next_] = fingerprint;
    next_ = next_ + 1 == params_.W() ? 0 : next_ + 1;
    Entry& entry = table_[find(fingerprint)];
    entry.fingerprint = fingerprint;
    distinct_ += entry.count++ == 0 ? 1 : 0;
    ++counters_.insertions;
}

inline void Swamp::forget(Fingerprint fingerprint) noexcept {
    const std::uint64_t entry = find(fingerprint);
    if (--table_[entry].count == 0) {
        --distinct_;
        close_gap(entry);
    }
}

// Move later entries of the run into the gap, unless that puts an entry before its home.
inline void Swamp::close_gap(std::uint64_t gap) noexcept {
    for (std::uint64_t entry = after(gap); table_[entry].count != 0; entry = after(entry)) {
        const std::uint64_t home = home_of(table_[entry].fingerprint);
        const std::uint64_t from_home = entry >= home ? entry - home : entry + entries_ - home;
        const std::uint64_t from_gap = entry >= gap ? entry - gap : entry + entries_ - gap;
        if (from_home >= from_gap) {
            table_[gap] = table_[entry];
            table_[entry].count = 0;
            gap = entry;
        }
    }
}

}  // namespace unecho::filter::baseline
