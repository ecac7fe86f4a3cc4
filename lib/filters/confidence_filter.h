// SPDX-License-Identifier: BSD-3-Clause
// A match may be an accident: bits that other digests left. A filter that knows from its fill how
// likely that is can be given a limit; a match above it is a doubt, not an echo.
//
// A doubt is inserted as if it were new: whoever forwards it because it may be new also relies on
// its copies being found. So a limit never costs a miss of a copy of what was forwarded.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "filters/filter.h"
#include "filters/hash/digest.h"

namespace unecho::filter {

// Of a burst; bit i is digest i's. At most one of the two is set.
struct Answers {
    std::uint64_t echoes = 0;
    std::uint64_t doubts = 0;
};

// The most chance of an accident with which a match is still an echo: one limit for a whole burst,
// or one for each of its digests.
class ChanceLimits {
  public:
    explicit constexpr ChanceLimits(float all) noexcept : all_(all) {}
    explicit constexpr ChanceLimits(const float* each) noexcept : each_(each) {}

    [[nodiscard]] constexpr float at(std::size_t i) const noexcept { return first()[i * stride()]; }
    // Those of the digests from this one on.
    [[nodiscard]] constexpr ChanceLimits from(std::size_t first) const noexcept {
        return each_ == nullptr ? *this : ChanceLimits(each_ + first);
    }

    // The limit of digest i is first()[i * stride()].
    [[nodiscard]] constexpr const float* first() const noexcept {
        return each_ == nullptr ? &all_ : each_;
    }
    [[nodiscard]] constexpr unsigned stride() const noexcept { return each_ == nullptr ? 0 : 1; }

  private:
    const float* each_ = nullptr;
    float all_ = 1.0F;
};

// As SlidingFilter, with a judgement of each match. Sequential equivalence holds here too.
template <typename F>
concept ConfidenceFilter = SlidingFilter<F> &&
    requires(F f, const F cf, Digest digest, std::span<const Digest> digests, ChanceLimits limits) {
    // The chance that a random digest, never inserted, would match now where this one lies. An
    // upper bound, as close as the filter's fill tells. On every kernel the same bits.
    { cf.chance(digest) }
    noexcept->std::same_as<float>;
    { f.test_and_insert_burst(digests, limits) }
    noexcept->std::same_as<Answers>;
};

}  // namespace unecho::filter
