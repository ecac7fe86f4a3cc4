// SPDX-License-Identifier: BSD-3-Clause
// Shifting Bloom Filter for membership: a Bloom filter of m bits in which an element's k bits form
// k / (t + 1) groups. The t + 1 bits of a group lie within 57 bits, so one load tests them all. The
// paper's ShBF_M has t = 1. CShbfM has counters, so elements can be erased.
//
// Guarantee: an element that was inserted (and not erased) always matches. No ageing: for sets.
// Cost: k / (t + 1) loads and hashes for an insertion or a match. A query of another element takes
//   about 1 / (1 - f) of them, where f is the share of groups that match by accident. One load in 9
//   touches two cache lines. m bits (m z with counters) and less than 2 cache lines.
// Accuracy: filters/sizing/sets/shbf.h. With t = 1 and w_bar = 57 the least false-positive rate for
//   n elements is 0.6204^(m/n), at k = 0.7009 m/n; that of a Bloom filter is 0.6185^(m/n). Each
//   further shift increases it.
// Weakness: the bits of a group depend on each other, more so for small (w_bar - 1) / t. With
//   counters of z bits w_bar is 57 / z, which costs accuracy; saturated counters stay set.
// References: Shifting Bloom Filter, section 3.
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

inline constexpr unsigned kMaxShbfBits = 64;  // k
inline constexpr unsigned kMaxShifts = 8;

struct ShbfMSpec {
    std::uint64_t m = 0;        // bits of the array (without padding), any number
    unsigned k = 0;             // bits of an element, a multiple of t + 1
    unsigned t = 1;             // bits of a group after its first
    unsigned w_bar = kMaxWBar;  // offsets are 1 .. w_bar - 1; fewer if t does not divide that
};

class ShbfMParams {
  public:
    static Result<ShbfMParams> make(const ShbfMSpec& spec);

    [[nodiscard]] std::uint64_t m() const noexcept { return spec_.m; }
    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] unsigned t() const noexcept { return spec_.t; }
    [[nodiscard]] unsigned w_bar() const noexcept { return spec_.w_bar; }
    [[nodiscard]] ShbfShape shape() const noexcept { return {spec_.k, spec_.t, spec_.w_bar}; }

  private:
    explicit ShbfMParams(const ShbfMSpec& spec) noexcept : spec_(spec) {}
    ShbfMSpec spec_;
};

class ShbfM {
  public:
    // Memory of the filter; line-aligned, zeroed.
    [[nodiscard]] static std::size_t bytes(const ShbfMParams& params) noexcept {
        return shifting_bytes(params.m());
    }

    ShbfM(const ShbfMParams& params, std::span<std::byte> memory) noexcept
        : params_(params),
          shape_(params.shape()),
          array_(carve<std::byte>(memory, 0, bytes(params))) {}

    void prefetch(Digest digest) const noexcept { shape_.prefetch(array_, params_.m(), digest); }
    [[nodiscard]] bool query(Digest digest) const noexcept {
        return shape_.matches(array_, params_.m(), digest);
    }
    // Return a mask: bit i is the answer for digests[i]. At most kMaxBurst digests.
    [[nodiscard]] std::uint64_t query_burst(std::span<const Digest> digests) const noexcept;
    void insert(Digest digest) noexcept { shape_.set(array_, params_.m(), digest); }
    void clear() noexcept;

    [[nodiscard]] const ShbfMParams& params() const noexcept { return params_; }

  private:
    ShbfMParams params_;
    ShbfShape shape_;
    std::byte* array_;
};

struct CShbfMSpec {
    std::uint64_t m = 0;  // counters
    unsigned k = 0;
    unsigned t = 1;
    unsigned z = 4;  // bits of a counter; w_bar is 57 / z
};

class CShbfMParams {
  public:
    static Result<CShbfMParams> make(const CShbfMSpec& spec);

    [[nodiscard]] std::uint64_t m() const noexcept { return spec_.m; }
    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] unsigned t() const noexcept { return spec_.t; }
    [[nodiscard]] unsigned z() const noexcept { return spec_.z; }
    [[nodiscard]] unsigned w_bar() const noexcept { return kMaxWBar / spec_.z; }
    [[nodiscard]] ShbfShape shape() const noexcept { return {spec_.k, spec_.t, w_bar()}; }

  private:
    explicit CShbfMParams(const CShbfMSpec& spec) noexcept : spec_(spec) {}
    CShbfMSpec spec_;
};

// The counting form, for a multiset: an element that was inserted twice must be erased twice.
class CShbfM {
  public:
    // Memory of the filter; line-aligned, zeroed.
    [[nodiscard]] static std::size_t bytes(const CShbfMParams& params) noexcept {
        return ShbfCounters::bytes(params.m() + params.w_bar() - 1, params.z());
    }

    CShbfM(const CShbfMParams& params, std::span<std::byte> memory) noexcept
        : params_(params),
          shape_(params.shape()),
          array_(carve<std::byte>(memory, 0, bytes(params))),
          counters_(array_, params.z()) {}

    void prefetch(Digest digest) const noexcept;
    [[nodiscard]] bool query(Digest digest) const noexcept;
    void insert(Digest digest) noexcept;
    // Erase an element that was inserted. Erasing another one would decrement counters that it
    // shares with others. Return false, and change nothing, if the element does not match.
    bool erase(Digest digest) noexcept;
    void clear() noexcept;

    [[nodiscard]] const CShbfMParams& params() const noexcept { return params_; }

  private:
    // Call with each counter of the element, repeated if bits coincide.
    template <typename Function>
    void for_each_counter(Digest digest, Function function) const noexcept;

    CShbfMParams params_;
    ShbfShape shape_;
    std::byte* array_;
    ShbfCounters counters_;
};

}  // namespace unecho::filter
