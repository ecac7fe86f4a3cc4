// SPDX-License-Identifier: BSD-3-Clause
// iBF, individual Bloom filters: one for a set S1, one for a set S2. A query says in which of the
// two a digest may be.
//
// Guarantee: a digest of S1 matches the first filter, one of S2 the second. So for a digest in one
//   of the sets, kFirst and kSecond are certain ("clear"): it is in that set alone. kBoth is not:
//   the digest may be in one set and match the other filter by accident.
// Cost: an insertion touches k cache lines, a query up to 2k. m1 + m2 bits.
// Accuracy: for digests equally often in S1 alone, S2 alone and both, the share of clear answers is
//   (2 - p1 - p2) / 3, with the rates p1 and p2 of the Bloom filters; at fill 1/2 it is 2/3 (1 -
//   2^-k) (sizing::ibf_clear, two_bloom_clear).
// Weakness: digests of both sets are stored twice, and never answered clearly.
// References: Shifting Bloom Filter, section 4, compares ShBF_A with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "filters/hash/digest.h"
#include "filters/papers/bloom.h"

namespace unecho::filter::baseline {

enum class Association : std::uint8_t { kNeither, kFirst, kSecond, kBoth };

class Ibf {
  public:
    [[nodiscard]] static std::size_t bytes(const BloomParams& first,
                                           const BloomParams& second) noexcept {
        return Bloom::bytes(first) + Bloom::bytes(second);
    }

    Ibf(const BloomParams& first, const BloomParams& second, std::span<std::byte> memory) noexcept
        : first_(first, memory), second_(second, memory, Bloom::bytes(first)) {}

    void prefetch(Digest digest) const noexcept {
        first_.prefetch(digest);
        second_.prefetch(digest);
    }
    void insert_first(Digest digest) noexcept { first_.insert(digest); }
    void insert_second(Digest digest) noexcept { second_.insert(digest); }
    [[nodiscard]] Association query(Digest digest) const noexcept {
        const unsigned in_first = first_.query(digest) ? 1 : 0;
        const unsigned in_second = second_.query(digest) ? 2 : 0;
        return static_cast<Association>(in_first | in_second);
    }
    void clear() noexcept {
        first_.clear();
        second_.clear();
    }

  private:
    Bloom first_;
    Bloom second_;
};

}  // namespace unecho::filter::baseline
