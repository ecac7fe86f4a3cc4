// SPDX-License-Identifier: BSD-3-Clause
// SegmentedParams, SegmentedFilter: bases of the segmented filters that estimate the chance of an
// accidental match (segmented/apbf.h, apbbf.h, shbf_window.h). They share a ring of k + l segments
// that ages by shifting, counts of its contents, and the chance that follows from those (chance.h).
// Each filter defines its own segments, and how to query and write a digest in them. The bases have
// no virtual functions, and do no work of their own for each digest.
//
// May not: allocate, look at bits, know the time.
#pragma once

#include <cstddef>
#include <span>

#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/in_order.h"
#include "filters/window/chance.h"
#include "filters/window/segmented/segment_ring.h"

namespace unecho::filter {

// A spec that was checked. Spec has k, l, spares and policy, like ApbfSpec.
template <typename Spec>
class SegmentedParams {
  public:
    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] unsigned l() const noexcept { return spec_.l; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }

    // The chance that a segment matches by accident.
    [[nodiscard]] const MatchTable& matches() const noexcept { return matches_; }

  protected:
    explicit SegmentedParams(const Spec& spec) noexcept : spec_(spec) {}
    ~SegmentedParams() = default;
    SegmentedParams(const SegmentedParams&) = default;
    SegmentedParams& operator=(const SegmentedParams&) = default;

    Spec spec_;
    MatchTable matches_;
};

// Params is a SegmentedParams with ring(), the geometry of its segments.
template <typename Params>
class SegmentedFilter {
  public:
    [[nodiscard]] static std::size_t bytes(const Params& params) noexcept {
        return params.ring().bytes();
    }
    [[nodiscard]] static bool is_consistent(const Params& params,
                                            std::span<std::byte> memory) noexcept {
        return SegmentRing::is_consistent(params.ring(), memory);
    }

    [[nodiscard]] float chance(Digest /*digest*/) const noexcept {
        return chance_of_run(ring_, params_.matches());
    }
    void advance(Moment moment) noexcept { ring_.advance(moment.generation, counters_); }
    void clear() noexcept {
        ring_.clear(counters_);
        chance_.renew(ring_, params_.matches(), counters_);
    }

    // Insertions of the present generation that set a bit of the youngest segment.
    [[nodiscard]] std::uint64_t load() const noexcept { return ring_.changes(0); }

    [[nodiscard]] const Params& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }
    // For the exchange of retired segments with a helper.
    [[nodiscard]] SegmentRing& segments() noexcept { return ring_; }

  protected:
    SegmentedFilter(const Params& params, std::span<std::byte> memory, Contents contents) noexcept
        : params_(params), ring_(params.ring(), memory, contents) {
        chance_.renew(ring_, params_.matches(), counters_);
    }
    ~SegmentedFilter() = default;
    SegmentedFilter(const SegmentedFilter&) = default;
    SegmentedFilter& operator=(const SegmentedFilter&) = default;

    // chance(), cached.
    [[nodiscard]] float chance_now() noexcept {
        return chance_.at(ring_, params_.matches(), counters_);
    }
    [[nodiscard]] bool refreshes() const noexcept {
        return params_.policy() == EchoPolicy::kRefresh;
    }

    // Answer a digest that matches or not: without a limit, or with one. insert() writes the
    // digest. Everything but an echo is written; under kRefresh an echo too.
    template <typename Insert>
    bool insert_unless_echo(bool match, Insert insert) noexcept {
        if (!match || refreshes()) {
            insert();
        }
        return match;
    }
    template <typename Insert>
    Answer insert_unless_confident(bool match, float limit, Insert insert) noexcept {
        const bool echo = match && chance_now() <= limit;
        insert_unless_echo(echo, insert);
        return echo ? Answer::kEcho : match ? Answer::kDoubt : Answer::kNew;
    }

    Params params_;
    FilterCounters counters_;
    SegmentRing ring_;
    CachedChance chance_;
};

}  // namespace unecho::filter
