// SPDX-License-Identifier: BSD-3-Clause
// Filters that know how likely a match is accidental: caused by bits that other digests set. A
// match whose chance of being accidental is above the caller's limit is a doubt, not an echo.
//
// A doubt is inserted like a new digest, because the caller forwards it and later copies of it must
// be found. So a limit never causes a miss of a copy of a forwarded packet.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "filters/filter.h"
#include "filters/hash/digest.h"

namespace unecho::filter {

// The answers for a burst: bit i belongs to digest i. At most one of its two bits is set.
struct Answers {
    std::uint64_t echoes = 0;
    std::uint64_t doubts = 0;
};

// Upper limits on the chance of an accidental match at which a match is still an echo: one limit
// for the whole burst, or one for each digest.
class ChanceLimits {
  public:
    explicit constexpr ChanceLimits(float all) noexcept : all_(all) {}
    explicit constexpr ChanceLimits(const float* each) noexcept : each_(each) {}

    [[nodiscard]] constexpr float at(std::size_t i) const noexcept { return first()[i * stride()]; }
    [[nodiscard]] constexpr ChanceLimits from(std::size_t first) const noexcept {
        return each_ == nullptr ? *this : ChanceLimits(each_ + first);
    }

    // Raw access for kernels: the limit of digest i is first()[i * stride()].
    [[nodiscard]] constexpr const float* first() const noexcept {
        return each_ == nullptr ? &all_ : each_;
    }
    [[nodiscard]] constexpr unsigned stride() const noexcept { return each_ == nullptr ? 0 : 1; }

  private:
    const float* each_ = nullptr;
    float all_ = 1.0F;
};

// A SlidingFilter that also applies limits to its matches. Contract (f) holds here too.
template <typename F>
concept ConfidenceFilter = SlidingFilter<F> &&
    requires(F f, const F cf, Digest digest, std::span<const Digest> digests, ChanceLimits limits) {
    // Return an upper bound, as tight as the fill allows, on the chance that a random digest never
    // inserted would match now at this digest's place. All kernels return the same bits.
    { cf.chance(digest) }
    noexcept->std::same_as<float>;
    { f.test_and_insert_burst(digests, limits) }
    noexcept->std::same_as<Answers>;
};

}  // namespace unecho::filter
