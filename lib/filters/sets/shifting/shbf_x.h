// SPDX-License-Identifier: BSD-3-Clause
// Shifting Bloom Filter for multiplicity: how often an element is in a multiset, 1 to c times. All
// k bits of an element of multiplicity j lie j - 1 behind its positions. A query reads c bits at
// each position and reports the largest j whose bits are all set. CShbfX has counters, so
// multiplicities can change.
//
// Guarantee: the answer is never below the multiplicity (except after CShbfX::insert_trusting), and
//   0 only for elements that are not in the multiset.
// Cost: a query takes at most k loads and hashes. One load in 9 touches two cache lines. m bits and
//   less than 2 cache lines; the counters take m z bits more.
// Accuracy: another multiplicity matches by accident with f0 = (1 - e^(-kn/m))^k, n distinct
//   elements, equation (17). The answer is right with (1 - f0)^(c - j), and with (1 - f0)^c for an
//   absent element (18). The paper's (1 - f0)^(j - 1), (19), is for reporting the smallest.
// Weakness: errors grow with c, whatever the elements' multiplicities are.
// References: Shifting Bloom Filter, section 5.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "filters/hash/digest.h"
#include "filters/sets/shifting/shbf_counters.h"
#include "filters/sets/shifting/shbf_shape.h"
#include "filters/storage.h"

namespace unecho::filter {

inline constexpr unsigned kMaxMultiplicity = kMaxWBar;

struct ShbfXSpec {
    std::uint64_t m = 0;  // bits of the array (without padding), any number
    unsigned k = 0;       // bits of an element
    unsigned c = 0;       // largest multiplicity
    unsigned z = 4;       // bits of a counter; CShbfX only
};

class ShbfXParams {
  public:
    static Result<ShbfXParams> make(const ShbfXSpec& spec);

    [[nodiscard]] std::uint64_t m() const noexcept { return spec_.m; }
    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] unsigned c() const noexcept { return spec_.c; }
    [[nodiscard]] unsigned z() const noexcept { return spec_.z; }

  private:
    explicit ShbfXParams(const ShbfXSpec& spec) noexcept : spec_(spec) {}
    ShbfXSpec spec_;
};

class ShbfX {
  public:
    // Memory of the filter; line-aligned, zeroed.
    [[nodiscard]] static std::size_t bytes(const ShbfXParams& params) noexcept {
        return shifting_bytes(params.m());
    }

    ShbfX(const ShbfXParams& params, std::span<std::byte> memory) noexcept
        : params_(params), array_(carve<std::byte>(memory, 0, bytes(params))) {}

    void prefetch(Digest digest) const noexcept;
    // Return the largest candidate, or 0 if there is none.
    [[nodiscard]] unsigned query(Digest digest) const noexcept;
    // Return a mask: bit j - 1 is set if and only if all bits of multiplicity j are.
    [[nodiscard]] std::uint64_t candidates(Digest digest) const noexcept;
    // Insert an element, once, with its multiplicity j in 1..c.
    void insert(Digest digest, unsigned j) noexcept;
    void clear() noexcept;

    [[nodiscard]] const ShbfXParams& params() const noexcept { return params_; }

  private:
    ShbfXParams params_;
    std::byte* array_;
};

// The caller's exact table, as a function from a digest to its multiplicity.
template <typename T>
concept CountTable = std::regular_invocable<const T&, Digest> &&
    std::convertible_to<std::invoke_result_t<const T&, Digest>, std::uint64_t>;

// Bits for queries, and counters next to them for changes. Saturated counters keep their bit
// forever, so multiplicities that were left may stay candidates.
class CShbfX {
  public:
    // Memory of the filter; line-aligned, zeroed.
    [[nodiscard]] static std::size_t bytes(const ShbfXParams& params) noexcept {
        return ShbfX::bytes(params) + counter_bytes(params);
    }

    CShbfX(const ShbfXParams& params, std::span<std::byte> memory) noexcept
        : bits_(params, memory),
          memory_(memory.first(bytes(params))),
          counted_(
              memory.data(),
              {carve<std::byte>(memory, ShbfX::bytes(params), counter_bytes(params)), params.z()}) {
    }

    void prefetch(Digest digest) const noexcept { bits_.prefetch(digest); }
    [[nodiscard]] unsigned query(Digest digest) const noexcept { return bits_.query(digest); }
    [[nodiscard]] std::uint64_t candidates(Digest digest) const noexcept {
        return bits_.candidates(digest);
    }

    // Insert or erase one occurrence of the element. The table gives its multiplicity before; the
    // caller updates it afterwards. Multiplicities above c count as c; erasing an absent element
    // changes nothing. No false negatives: an answer is never below min(multiplicity, c).
    template <CountTable Table>
    void insert(Digest digest, const Table& table) noexcept {
        const unsigned before = capped(table(digest));
        move(digest, before, capped(before + 1));
    }
    template <CountTable Table>
    void erase(Digest digest, const Table& table) noexcept {
        const std::uint64_t before = table(digest);
        move(digest, capped(before), capped(before - std::min<std::uint64_t>(before, 1)));
    }

    // The same without a table: the filter's own answer is taken for the multiplicity. If it is too
    // large by accident, bits of other elements are cleared, and answers may be too low. An element
    // that reached c stays at c.
    void insert_trusting(Digest digest) noexcept;
    void erase_trusting(Digest digest) noexcept;
    void clear() noexcept;

    [[nodiscard]] const ShbfXParams& params() const noexcept { return bits_.params(); }

  private:
    // One counter for each bit that a stretch reaches.
    [[nodiscard]] static std::size_t counter_bytes(const ShbfXParams& params) noexcept {
        return ShbfCounters::bytes(params.m() + params.c() - 1, params.z());
    }
    [[nodiscard]] unsigned capped(std::uint64_t j) const noexcept {
        return static_cast<unsigned>(std::min<std::uint64_t>(j, params().c()));
    }
    void move(Digest digest, unsigned from, unsigned to) noexcept;

    ShbfX bits_;
    std::span<std::byte> memory_;
    CountedBits counted_;
};

}  // namespace unecho::filter
