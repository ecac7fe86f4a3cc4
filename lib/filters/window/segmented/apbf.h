// SPDX-License-Identifier: BSD-3-Clause
// Age-Partitioned Bloom Filter (APBF): k + l slices of m bits. An insertion sets one bit in each of
// the k youngest slices. A digest is an echo iff k consecutive slices match.
//
// Guarantee: a digest inserted in generation j is an echo through generation j + l. From j + l + k
//   on, without another insertion, it is new, apart from false positives.
// Cost: an insertion touches k cache lines, a query about 2 (1 + l / k) for a new digest, about k
//   for an echo. Memory: (k + l + spares) * m bits.
// Accuracy: after generations of g insertions, slice i just before a shift is filled to
//   r_i = 1 - (1 - 1/m)^(min(i + 1, k) g). The false-positive rate is the recursion F(k, l) over
//   r_i. With g = m ln 2 / k slices fill to 1/2.
// Weakness: as many cache misses as slices, so slow out of cache; APBBF answers from whole blocks.
// References: Age-Partitioned Bloom Filters, section 5 (5.1 and Algorithm 1, 5.2 sizes, 5.3 rates).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "filters/confidence_filter.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/in_order.h"
#include "filters/positions.h"
#include "filters/storage.h"
#include "filters/window/segmented.h"

namespace unecho::filter {

inline constexpr std::uint64_t kMinSliceBits = 64;

struct ApbfSpec {
    unsigned k = 0;       // slices written by an insertion
    unsigned l = 0;       // generations of the window
    std::uint64_t m = 0;  // bits of a slice, at least kMinSliceBits
    unsigned spares = kDefaultSpares;
    EchoPolicy policy = EchoPolicy::kFixed;
};

class ApbfParams : public SegmentedParams<ApbfSpec> {
  public:
    static Result<ApbfParams> make(const ApbfSpec& spec);

    [[nodiscard]] std::uint64_t m() const noexcept { return spec_.m; }
    [[nodiscard]] RingGeometry ring() const noexcept {
        return {spec_.k, spec_.l, spec_.spares, bytes_for_bits(spec_.m)};
    }

  private:
    explicit ApbfParams(const ApbfSpec& spec) noexcept : SegmentedParams(spec) {}
};

class Apbf : public SegmentedFilter<ApbfParams> {
  public:
    Apbf(const ApbfParams& params, std::span<std::byte> memory,
         Contents contents = Contents::kZero) noexcept
        : SegmentedFilter(params, memory, contents), m_(params.m()) {}

    void prefetch(Digest digest) const noexcept;
    bool test_and_insert(Digest digest) noexcept;
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept;
    Answer test_and_insert(Digest digest, float limit) noexcept;
    Answers test_and_insert_burst(std::span<const Digest> digests, ChanceLimits limits) noexcept;

    // The two halves of test_and_insert, without a policy.
    [[nodiscard]] bool query(Digest digest) const noexcept { return matches(Hash(digest)); }
    void insert(Digest digest) noexcept { set(Hash(digest)); }

  private:
    // One bit in each slice, by the slice's identity.
    using Hash = SlicePositions;

    [[nodiscard]] std::uint64_t bit_of(const Hash& hash, unsigned slot) const noexcept {
        return hash.at(ring_.identity(slot), m_);
    }
    void prefetch_slot(const Hash& hash, unsigned slot) const noexcept;
    [[nodiscard]] bool slice_matches(const Hash& hash, unsigned slot) const noexcept;
    [[nodiscard]] bool matches(const Hash& hash) const noexcept;
    void set(const Hash& hash) noexcept;

    std::uint64_t m_;
};

static_assert(ConfidenceFilter<Apbf>);
static_assert(RestorableFilter<Apbf, ApbfParams>);

inline bool Apbf::slice_matches(const Hash& hash, unsigned slot) const noexcept {
    const auto* words = reinterpret_cast<const std::uint64_t*>(ring_.segment(slot));
    if (words == nullptr) {
        return false;
    }
    const std::uint64_t bit = bit_of(hash, slot);
    return (words[bit / 64] >> (bit % 64) & 1) != 0;
}

inline bool Apbf::matches(const Hash& hash) const noexcept {
    return run_of_matches(params_.k(), params_.l(),
                          [&](unsigned slot) noexcept { return slice_matches(hash, slot); });
}

inline void Apbf::set(const Hash& hash) noexcept {
    for (unsigned slot = 0; slot < params_.k(); ++slot) {
        auto* words = reinterpret_cast<std::uint64_t*>(ring_.segment(slot));
        const std::uint64_t bit = bit_of(hash, slot);
        const std::uint64_t word = words[bit / 64];
        words[bit / 64] = word | std::uint64_t{1} << (bit % 64);
        ring_.count_change(slot, (word >> (bit % 64) & 1) == 0);
    }
    ++counters_.insertions;
}

inline bool Apbf::test_and_insert(Digest digest) noexcept {
    const Hash hash(digest);
    return insert_unless_echo(matches(hash), [&]() noexcept { set(hash); });
}

inline Answer Apbf::test_and_insert(Digest digest, float limit) noexcept {
    const Hash hash(digest);
    return insert_unless_confident(matches(hash), limit, [&]() noexcept { set(hash); });
}

}  // namespace unecho::filter
