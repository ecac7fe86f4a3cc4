// SPDX-License-Identifier: BSD-3-Clause
// Shifting Bloom Filter for multiplicity: how often an element is in a multi-set, 1 to c. All k
// bits of an element of multiplicity j lie j - 1 behind its positions; a query reads c bits at each
// and reports the largest j whose bits are all set. CShbfX counts, so that multiplicities change.
//
// Guarantee: the answer is never below the multiplicity (but see CShbfX::insert_trusting), and 0
//   only for what is not in the multi-set.
// Cost: a query at most k loads and hashes. One load in 9 touches two cache lines. m bits and less
//   than 2 cache lines; the counters beside them m z bits.
// Accuracy: another multiplicity matches by chance with f0 = (1 - e^(-kn/m))^k, n distinct
//   elements, equation (17); the answer is right with (1 - f0)^(c - j), and (1 - f0)^c for an
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

// A spec that was checked.
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
    // What the constructor's memory must hold; line-aligned, zeroed.
    [[nodiscard]] static std::size_t bytes(const ShbfXParams& params) noexcept {
        return shifting_bytes(params.m());
    }

    ShbfX(const ShbfXParams& params, std::span<std::byte> memory) noexcept
        : params_(params), array_(carve<std::byte>(memory, 0, bytes(params))) {}

    void prefetch(Digest digest) const noexcept;
    // The largest candidate, 0 if there is none.
    [[nodiscard]] unsigned query(Digest digest) const noexcept;
    // Bit j - 1 is set iff all bits of multiplicity j are.
    [[nodiscard]] std::uint64_t candidates(Digest digest) const noexcept;
    // An element of multiplicity j in 1..c; once for each.
    void insert(Digest digest, unsigned j) noexcept;
    void clear() noexcept;

    [[nodiscard]] const ShbfXParams& params() const noexcept { return params_; }

  private:
    ShbfXParams params_;
    std::byte* array_;
};

// The caller's exact table (any function): the multiplicity of a digest.
template <typename T>
concept CountTable = std::regular_invocable<const T&, Digest> &&
    std::convertible_to<std::invoke_result_t<const T&, Digest>, std::uint64_t>;

// Bits for the query, and counters beside them for the changes. Saturated counters keep their bit
// for ever: multiplicities that were left may stay candidates.
class CShbfX {
  public:
    // What the constructor's memory must hold; line-aligned, zeroed.
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

    // One more, or one less, of the element, with the multiplicity it had from an exact table,
    // which the caller changes afterwards. Multiplicities beyond c count as c; erasing what is
    // not there changes nothing. No false negatives: an answer is never below min(multiplicity, c).
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

    // The same without a table: the filter's own answer is taken for the multiplicity. Where it is
    // too large by chance, bits of other elements are cleared: false negatives and answers below
    // the multiplicity are possible. From c on an element stays at c.
    void insert_trusting(Digest digest) noexcept;
    void erase_trusting(Digest digest) noexcept;
    void clear() noexcept;

    [[nodiscard]] const ShbfXParams& params() const noexcept { return bits_.params(); }

  private:
    // A counter for each bit that a stretch reaches.
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
