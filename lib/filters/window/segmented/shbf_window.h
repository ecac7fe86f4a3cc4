// SPDX-License-Identifier: BSD-3-Clause
// Age-Partitioned Shifting Bloom Filter: k + l segments, each a ShBF_M. An insertion sets b bits in
// each of the k youngest segments. A digest is an echo iff k consecutive segments match. It takes
// half the hashes and loads of an APBF with as many bits.
//
// Guarantee: a digest inserted in generation j is an echo through generation j + l. From j + l + k
//   on, without another insertion, it is new, apart from false positives.
// Cost: an insertion touches k b / (t + 1) cache lines (one load in 9 touches two), a query about
//   l / k + 1 for a new digest and k b / (t + 1) for an echo. Memory: (k + l + spares) * m bits.
// Accuracy: a segment with n digests matches another one with r_i = fpr(m, n, b) of ShBF_M
//   (filters/sizing/sets/shbf.h). The false-positive rate is the recursion F(k, l) over r_i.
// Weakness: more cache lines than APBBF for the same memory.
// References: Shifting Bloom Filter, section 3, for the segments; Age-Partitioned Bloom Filters,
//   sections 5 and 6, for their ageing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "filters/confidence_filter.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/in_order.h"
#include "filters/sets/shifting/shbf_m.h"
#include "filters/sets/shifting/shbf_shape.h"
#include "filters/storage.h"
#include "filters/window/segmented.h"

namespace unecho::filter {

struct ShbfWindowSpec {
    unsigned k = 0;       // segments written by an insertion
    unsigned l = 0;       // generations of the window
    std::uint64_t m = 0;  // bits of a segment (without padding)
    unsigned b = 0;       // bits of a digest in a segment, a multiple of t + 1
    unsigned t = 1;       // shifts
    unsigned spares = kDefaultSpares;
    EchoPolicy policy = EchoPolicy::kFixed;
};

class ShbfWindowParams : public SegmentedParams<ShbfWindowSpec> {
  public:
    static Result<ShbfWindowParams> make(const ShbfWindowSpec& spec);

    [[nodiscard]] std::uint64_t m() const noexcept { return spec_.m; }
    [[nodiscard]] unsigned b() const noexcept { return spec_.b; }
    [[nodiscard]] unsigned t() const noexcept { return spec_.t; }
    [[nodiscard]] RingGeometry ring() const noexcept {
        return {spec_.k, spec_.l, spec_.spares, shifting_bytes(spec_.m)};
    }
    [[nodiscard]] ShbfShape shape() const noexcept { return {spec_.b, spec_.t, kMaxWBar}; }

  private:
    explicit ShbfWindowParams(const ShbfWindowSpec& spec) noexcept : SegmentedParams(spec) {}
};

class ShbfWindow : public SegmentedFilter<ShbfWindowParams> {
  public:
    ShbfWindow(const ShbfWindowParams& params, std::span<std::byte> memory,
               Contents contents = Contents::kZero) noexcept
        : SegmentedFilter(params, memory, contents), shape_(params.shape()) {}

    void prefetch(Digest digest) const noexcept;
    bool test_and_insert(Digest digest) noexcept;
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept;
    Answer test_and_insert(Digest digest, float limit) noexcept;
    Answers test_and_insert_burst(std::span<const Digest> digests, ChanceLimits limits) noexcept;

    // The two halves of test_and_insert, without a policy.
    [[nodiscard]] bool query(Digest digest) const noexcept;
    void insert(Digest digest) noexcept;

  private:
    [[nodiscard]] std::uint64_t hash_of(Digest digest, unsigned slot) const noexcept {
        return remix(digest, ring_.identity(slot));
    }

    ShbfShape shape_;
};

static_assert(ConfidenceFilter<ShbfWindow>);
static_assert(RestorableFilter<ShbfWindow, ShbfWindowParams>);

inline bool ShbfWindow::query(Digest digest) const noexcept {
    return run_of_matches(params_.k(), params_.l(), [&](unsigned slot) noexcept {
        const std::byte* const segment = ring_.segment(slot);
        return segment != nullptr && shape_.matches(segment, params_.m(), hash_of(digest, slot));
    });
}

inline void ShbfWindow::insert(Digest digest) noexcept {
    for (unsigned slot = 0; slot < params_.k(); ++slot) {
        ring_.count_change(slot,
                           shape_.set(ring_.segment(slot), params_.m(), hash_of(digest, slot)));
    }
    ++counters_.insertions;
}

inline bool ShbfWindow::test_and_insert(Digest digest) noexcept {
    return insert_unless_echo(query(digest), [&]() noexcept { insert(digest); });
}

inline Answer ShbfWindow::test_and_insert(Digest digest, float limit) noexcept {
    return insert_unless_confident(query(digest), limit, [&]() noexcept { insert(digest); });
}

}  // namespace unecho::filter
