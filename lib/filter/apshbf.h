// SPDX-License-Identifier: BSD-3-Clause
// Age-Partitioned Shifting Bloom Filter: k + l segments, each a ShBF_M; an insertion sets b bits in
// each of the k youngest, a query is true iff k consecutive segments match. The ageing is APBF's,
// the segments are the shifting filter's: half of an APBF's hashes and loads for as many bits.
//
// Guarantee: a digest inserted in generation j is an echo through generation j + l; from j + l + k
//   on (and without another insertion) it is new, but for false positives.
// Cost: an insertion touches k b / (t + 1) cache lines (one load in 9 touches two), a query of a
//   new digest about l / k + 1, of an echo k b / (t + 1). (k + l + spares) * m bits.
// Accuracy: a segment that holds n digests matches a foreign one with r_i = fpr(m, n, b) of ShBF_M
//   (sizing/shbf.h); the false-positive rate is the recursion F(k, l) over r_i.
// Weakness: more cache lines than APBBF for the same memory.
// References: Shifting Bloom Filter, section 3, for the segments; Age-Partitioned Bloom Filters,
//   sections 5 and 6, for their ageing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "filter/chance.h"
#include "filter/filter.h"
#include "filter/in_order.h"
#include "filter/judge.h"
#include "filter/segment_ring.h"
#include "filter/shbf_m.h"
#include "filter/shbf_shape.h"
#include "filter/storage.h"
#include "hash/digest.h"

namespace unecho::filter {

struct ApshbfSpec {
    unsigned k = 0;       // segments written by an insertion
    unsigned l = 0;       // generations of the window
    std::uint64_t m = 0;  // bits of a segment (without padding)
    unsigned b = 0;       // bits of a digest in a segment, a multiple of t + 1
    unsigned t = 1;       // shifts
    unsigned spares = kDefaultSpares;
    EchoPolicy policy = EchoPolicy::kFixed;
};

// A spec that was checked.
class ApshbfParams {
  public:
    static Result<ApshbfParams> make(const ApshbfSpec& spec);

    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] unsigned l() const noexcept { return spec_.l; }
    [[nodiscard]] std::uint64_t m() const noexcept { return spec_.m; }
    [[nodiscard]] unsigned b() const noexcept { return spec_.b; }
    [[nodiscard]] unsigned t() const noexcept { return spec_.t; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }
    [[nodiscard]] RingGeometry ring() const noexcept {
        return {spec_.k, spec_.l, spec_.spares, window_bytes(spec_.m)};
    }
    [[nodiscard]] ShbfShape shape() const noexcept { return {spec_.b, spec_.t, kMaxWBar}; }

    // How likely a segment matches by accident.
    [[nodiscard]] const MatchTable& matches() const noexcept { return matches_; }

  private:
    explicit ApshbfParams(const ApshbfSpec& spec) noexcept : spec_(spec) {}

    ApshbfSpec spec_;
    MatchTable matches_;
};

class Apshbf {
  public:
    // What the constructor's memory must hold; line-aligned, zeroed.
    [[nodiscard]] static std::size_t bytes(const ApshbfParams& params) noexcept {
        return params.ring().bytes();
    }

    Apshbf(const ApshbfParams& params, std::span<std::byte> memory) noexcept
        : params_(params), shape_(params.shape()), ring_(params.ring(), memory) {}

    void prefetch(Digest digest) const noexcept;
    bool test_and_insert(Digest digest) noexcept;
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept;
    Answer test_and_insert(Digest digest, float limit) noexcept;
    Answers test_and_insert_burst(std::span<const Digest> digests, ChanceLimits limits) noexcept;
    [[nodiscard]] float chance(Digest /*digest*/) const noexcept {
        return chance_of_run(ring_, params_.matches());
    }
    void advance(Moment moment) noexcept { ring_.advance(moment.generation, counters_); }
    void clear() noexcept {
        ring_.clear(counters_);
        chance_.renew(ring_, params_.matches(), counters_);
    }

    // The two halves of test_and_insert, without a policy.
    [[nodiscard]] bool query(Digest digest) const noexcept;
    void insert(Digest digest) noexcept;

    [[nodiscard]] const ApshbfParams& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }
    // For the exchange of retired segments with a helper.
    [[nodiscard]] SegmentRing& segments() noexcept { return ring_; }

  private:
    // As chance().
    [[nodiscard]] float chance_now() noexcept {
        return chance_.at(ring_, params_.matches(), counters_);
    }
    // A digest's hash in the segment of a slot.
    [[nodiscard]] std::uint64_t hash_of(Digest digest, unsigned slot) const noexcept {
        return remix(digest, ring_.identity(slot));
    }

    ApshbfParams params_;
    ShbfShape shape_;
    FilterCounters counters_;
    SegmentRing ring_;
    ChanceNow chance_;
};

static_assert(JudgingFilter<Apshbf>);

inline bool Apshbf::query(Digest digest) const noexcept {
    return run_of_matches(params_.k(), params_.l(), [&](unsigned slot) noexcept {
        const std::byte* const segment = ring_.segment(slot);
        return segment != nullptr && shape_.matches(segment, params_.m(), hash_of(digest, slot));
    });
}

inline void Apshbf::insert(Digest digest) noexcept {
    for (unsigned slot = 0; slot < params_.k(); ++slot) {
        ring_.count_change(slot,
                           shape_.set(ring_.segment(slot), params_.m(), hash_of(digest, slot)));
    }
    ++counters_.insertions;
}

inline bool Apshbf::test_and_insert(Digest digest) noexcept {
    const bool echo = query(digest);
    if (!echo || params_.policy() == EchoPolicy::kRefresh) {
        insert(digest);
    }
    return echo;
}

inline Answer Apshbf::test_and_insert(Digest digest, float limit) noexcept {
    const bool match = query(digest);
    const bool echo = match && chance_now() <= limit;
    if (!echo || params_.policy() == EchoPolicy::kRefresh) {
        insert(digest);
    }
    return echo ? Answer::kEcho : match ? Answer::kDoubt : Answer::kNew;
}

}  // namespace unecho::filter
