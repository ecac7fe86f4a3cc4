// SPDX-License-Identifier: BSD-3-Clause
// Statistics of the stream that the inferential answer needs in advance: the share of echoes, from
// which sizing::insertion_probability computes the prior p, and D(j), the distinct keys among j
// consecutive insertions, at j = 1, 2, 4, ... (sizing::DistinctSamples interpolates by equation 18
// of "Inferential Time-Decaying Bloom Filters").
//
// Both are means with weights that halve from one horizon to the next, so that they follow a stream
// that changes. A packet costs a few additions; the results can be read at any time. A timing
// filter also shows an age for some keys that are new. Probes with random digests measure how many,
// and correct for it. May not: allocate, divide or take logarithms per packet, read a clock.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/assert.h"

namespace unecho::filter {

// The share of echoes among a filter's answers.
class EchoShare {
  public:
    // horizon: number of answers with full weight; at least 2.
    explicit EchoShare(std::uint64_t horizon) noexcept : horizon_(horizon) {
        UNECHO_ASSERT(horizon >= 2);
    }

    void add(bool echo) noexcept { add(echo ? 1 : 0, 1); }
    // Add the answers to a burst of `digests` digests, one bit of `echoes` for each.
    void add(std::uint64_t echoes, unsigned digests) noexcept {
        echoes_ += static_cast<unsigned>(std::popcount(echoes));
        answers_ += digests;
        if (answers_ >= 2 * horizon_) {
            answers_ /= 2;
            echoes_ /= 2;
        }
    }

    // Return the share of echoes, between 0 and 1; `before` if there was no answer yet. Corrected
    // for the new keys that the filter takes for echoes.
    [[nodiscard]] double share(double before, double false_positive_rate) const noexcept {
        if (answers_ == 0) {
            return before;
        }
        const double seen = static_cast<double>(echoes_) / static_cast<double>(answers_);
        return std::clamp((seen - false_positive_rate) / (1 - false_positive_rate), 0.0, 1.0);
    }
    [[nodiscard]] std::uint64_t answers() const noexcept { return answers_; }

  private:
    std::uint64_t horizon_;
    std::uint64_t answers_ = 0;
    std::uint64_t echoes_ = 0;
};

// D(j) from the insertion ages I of the arriving keys. The n-th of j consecutive insertions is a
// key not among the n - 1 before it iff I >= n - 1, so
//     D(j) = sum over n < j of P(I >= n) = E[min(I + 1, j)].
// For j = 2^e it follows exactly from the sums of I + 1 below e and the number of larger ages.
class DistinctCurve {
  public:
    static constexpr unsigned kOctaves = 33;  // D(1) to D(2^32)

    // horizon: number of ages with full weight, at least 2. At most this, so that no sum overflows.
    static constexpr std::uint64_t kMaxHorizon = std::uint64_t{1} << 29;
    explicit DistinctCurve(std::uint64_t horizon) noexcept : horizon_(horizon) {
        UNECHO_ASSERT(horizon >= 2 && horizon <= kMaxHorizon);
    }

    // Add a key whose last insertion was followed by `age` others.
    void add(std::uint64_t age) noexcept {
        const std::uint64_t distance = std::min(age, kFarthest) + 1;
        const auto octave = static_cast<unsigned>(std::bit_width(distance)) - 1;
        ++keys_[octave];
        distances_[octave] += distance;
        count();
    }
    // Add a key that is new or of unknown age. D(j) is right up to the least age that is unknown.
    void add_new() noexcept {
        ++keys_[kOctaves];
        count();
    }

    // Return D(2^e), e < kOctaves. Without any key: 2^e, as if no key were repeated.
    [[nodiscard]] double at_power(unsigned e) const noexcept {
        UNECHO_ASSERT(e < kOctaves);
        const auto j = static_cast<double>(std::uint64_t{1} << e);
        if (total_ == 0) {
            return j;
        }
        std::uint64_t keys = 0;
        std::uint64_t distances = 0;
        for (unsigned octave = 0; octave < e; ++octave) {
            keys += keys_[octave];
            distances += distances_[octave];
        }
        const double beyond = static_cast<double>(total_ - keys);
        return (static_cast<double>(distances) + beyond * j) / static_cast<double>(total_);
    }
    [[nodiscard]] std::uint64_t keys() const noexcept { return total_; }

  private:
    static constexpr std::uint64_t kFarthest = (std::uint64_t{1} << kOctaves) - 2;

    void count() noexcept {
        ++total_;
        if (total_ >= 2 * horizon_) [[unlikely]] {
            halve();
        }
    }
    void halve() noexcept {
        total_ = 0;
        for (std::size_t octave = 0; octave < keys_.size(); ++octave) {
            if (octave < kOctaves && keys_[octave] > 0) {
                // Halve the sum so that the octave's mean distance stays the same.
                const double mean =
                    static_cast<double>(distances_[octave]) / static_cast<double>(keys_[octave]);
                const auto kept = static_cast<double>(keys_[octave] / 2);
                distances_[octave] = static_cast<std::uint64_t>(mean * kept + 0.5);
            }
            keys_[octave] /= 2;
            total_ += keys_[octave];
        }
    }

    std::uint64_t horizon_;
    std::uint64_t total_ = 0;
    std::array<std::uint64_t, kOctaves + 1> keys_{};  // by octave of I + 1; last: age unknown
    std::array<std::uint64_t, kOctaves> distances_{};
};

// Return D(2^e) of the arriving keys if the ages come from a timing filter, which also shows
// accidental ages. The filter shows the lesser of the true age and the accidental one, so
//     P(shown >= n) = P(true >= n) P(accident >= n).
// probes has the ages shown for random digests, the accidents alone; a probe for some of the
// packets is enough. The result is exact, except that accidents within an octave are taken at their
// mean. It is some percent too large if accidents go from few to all within one octave.
inline double distinct_at_power(const DistinctCurve& shown, const DistinctCurve& probes,
                                unsigned e) noexcept {
    double distinct = shown.at_power(0);
    for (unsigned octave = 0; octave < e; ++octave) {
        const double keys = shown.at_power(octave + 1) - shown.at_power(octave);
        const double unhurt = probes.at_power(octave + 1) - probes.at_power(octave);
        const auto all = static_cast<double>(std::uint64_t{1} << octave);
        distinct += unhurt > 0 ? std::min(keys / unhurt, 1.0) * all : keys;
    }
    return distinct;
}

}  // namespace unecho::filter
