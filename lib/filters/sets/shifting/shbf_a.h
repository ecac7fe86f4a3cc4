// SPDX-License-Identifier: BSD-3-Clause
// Shifting Bloom Filter for association: which of two sets S1 and S2 an element belongs to. All k
// bits of an element lie at one offset behind its positions: 0 for S1 - S2, o1 for both, o2 for S2
// - S1. A query tests all three. CShbfA has counters, so elements can join and leave the sets.
//
// Guarantee: the answer, one of seven for an element of S1 or S2, always contains its region. For
//   another element it is kNeither except for false positives.
// Cost: a query takes at most k loads and k + 1 hashes. One load in 9 touches two cache lines. m
//   bits and less than 2 cache lines; the counters take m z bits more.
// Accuracy: with fill 1/2 (m = k |S1 u S2| / ln 2) the answer is the region alone with probability
//   (1 - 2^-k)^2, equation (16); filters/sizing/sets/shbf.h.
// Weakness: an insertion must know whether the element is already in the other set. The caller
//   keeps the sets exactly (the paper's tables T1 and T2) or adds each element once.
// References: Shifting Bloom Filter, section 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "filters/hash/digest.h"
#include "filters/sets/shifting/shbf_counters.h"
#include "filters/sets/shifting/shbf_shape.h"
#include "filters/storage.h"

namespace unecho::filter {

// The region of an element. A query answers with a bit for each region that is possible.
enum class Region : std::uint8_t {
    kNone = 0,
    kFirstOnly = 1,   // S1 - S2
    kBoth = 2,        // S1 and S2
    kSecondOnly = 4,  // S2 - S1
};

enum class Association : std::uint8_t {
    kNeither = 0,
    kFirstOnly = 1,        // S1 - S2
    kBoth = 2,             // S1 and S2
    kSecondOnly = 4,       // S2 - S1
    kFirst = 1 | 2,        // S1, perhaps S2 too
    kSecond = 2 | 4,       // S2, perhaps S1 too
    kOneOnly = 1 | 4,      // S1 or S2, not both
    kUnknown = 1 | 2 | 4,  // S1 or S2 or both
};

[[nodiscard]] constexpr bool may_be(Association answer, Region region) noexcept {
    return (static_cast<unsigned>(answer) & static_cast<unsigned>(region)) != 0;
}

enum class SetOfTwo : std::uint8_t { kFirst, kSecond };

// Return the region of an element after it joined, or left, a set.
[[nodiscard]] Region joined(Region region, SetOfTwo set) noexcept;
[[nodiscard]] Region left(Region region, SetOfTwo set) noexcept;

struct ShbfASpec {
    std::uint64_t m = 0;        // bits of the array (without padding), any number
    unsigned k = 0;             // bits of an element
    unsigned w_bar = kMaxWBar;  // o1 and o2 - o1 are each in 1 .. (w_bar - 1) / 2
    unsigned z = 4;             // bits of a counter; CShbfA only
};

class ShbfAParams {
  public:
    static Result<ShbfAParams> make(const ShbfASpec& spec);

    [[nodiscard]] std::uint64_t m() const noexcept { return spec_.m; }
    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] unsigned w_bar() const noexcept { return spec_.w_bar; }
    [[nodiscard]] unsigned z() const noexcept { return spec_.z; }

  private:
    explicit ShbfAParams(const ShbfASpec& spec) noexcept : spec_(spec) {}
    ShbfASpec spec_;
};

class ShbfA {
  public:
    // Memory of the filter; line-aligned, zeroed.
    [[nodiscard]] static std::size_t bytes(const ShbfAParams& params) noexcept {
        return shifting_bytes(params.m());
    }

    ShbfA(const ShbfAParams& params, std::span<std::byte> memory) noexcept
        : params_(params), array_(carve<std::byte>(memory, 0, bytes(params))) {}

    void prefetch(Digest digest) const noexcept;
    [[nodiscard]] Association query(Digest digest) const noexcept;
    // Insert an element, once, with its region other than kNone.
    void insert(Digest digest, Region region) noexcept;
    void clear() noexcept;

    [[nodiscard]] const ShbfAParams& params() const noexcept { return params_; }

  private:
    friend class CShbfA;

    // Offset of the bits of each region behind an element's positions.
    struct Offsets {
        Offsets(Digest digest, unsigned w_bar) noexcept;
        [[nodiscard]] unsigned of(Region region) const noexcept;
        unsigned both;
        unsigned second;
    };

    ShbfAParams params_;
    std::byte* array_;
};

// Bits for queries, and counters next to them for changes.
class CShbfA {
  public:
    // Memory of the filter; line-aligned, zeroed.
    [[nodiscard]] static std::size_t bytes(const ShbfAParams& params) noexcept {
        return ShbfA::bytes(params) + counter_bytes(params);
    }

    CShbfA(const ShbfAParams& params, std::span<std::byte> memory) noexcept
        : bits_(params, memory),
          memory_(memory.first(bytes(params))),
          counted_(
              memory.data(),
              {carve<std::byte>(memory, ShbfA::bytes(params), counter_bytes(params)), params.z()}) {
    }

    void prefetch(Digest digest) const noexcept { bits_.prefetch(digest); }
    [[nodiscard]] Association query(Digest digest) const noexcept { return bits_.query(digest); }

    // Let the element join or leave a set, and return its new region. region: its old one, which
    // the caller must know. Joining twice, or leaving twice, changes nothing. Saturated counters
    // keep their bit forever: later answers may contain the region that was left.
    Region insert(Digest digest, SetOfTwo set, Region region) noexcept;
    Region erase(Digest digest, SetOfTwo set, Region region) noexcept;
    void clear() noexcept;

    [[nodiscard]] const ShbfAParams& params() const noexcept { return bits_.params(); }

  private:
    // One counter for each bit that a stretch reaches.
    [[nodiscard]] static std::size_t counter_bytes(const ShbfAParams& params) noexcept {
        return ShbfCounters::bytes(params.m() + params.w_bar() - 1, params.z());
    }
    void move(Digest digest, Region from, Region to) noexcept;

    ShbfA bits_;
    std::span<std::byte> memory_;
    CountedBits counted_;
};

}  // namespace unecho::filter
