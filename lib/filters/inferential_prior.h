// SPDX-License-Identifier: BSD-3-Clause
// Learns, from the stream itself, what the inferential answer must know beforehand: the share of
// echoes (from which sizing::insertion_probability has the prior p), and D(j), the distinct keys
// among j insertions in a row, at j = 1, 2, 4, ... (sizing::DistinctSamples interpolates by
// equation 18 of "Inferential Time-Decaying Bloom Filters").
//
// Both are means over the past with weights that halve from one horizon to the next, so that they
// follow a stream that changes. A few additions a packet; readable at any time. A timing filter
// shows some new keys an age, too: probes with random digests tell how many, and correct for it.
// May not: allocate, divide or take logarithms per packet, look at the time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/assert.h"

namespace unecho::filter {

// The share of echoes among the answers.
class EchoShare {
  public:
    // Answers that count fully; at least 2.
    explicit EchoShare(std::uint64_t horizon) noexcept : horizon_(horizon) {
        UNECHO_ASSERT(horizon >= 2);
    }

    void add(bool echo) noexcept { add(echo ? 1 : 0, 1); }
    // The answer of a burst of so many digests.
    void add(std::uint64_t echoes, unsigned digests) noexcept {
        echoes_ += static_cast<unsigned>(std::popcount(echoes));
        answers_ += digests;
        if (answers_ >= 2 * horizon_) {
            answers_ /= 2;
            echoes_ /= 2;
        }
    }

    // Absent any answer, the one given. A filter that takes this share of new keys for echoes makes
    // the share seen larger; that is taken out. Between 0 and 1.
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

// D(j) from the insertion ages I of the keys that come: the n-th of j insertions in a row is a key
// that was not among the n - 1 before it if I >= n - 1, so
//     D(j) = sum over n < j of P(I >= n) = E[min(I + 1, j)].
// For j = 2^e the sums of I + 1 over its octaves below e, and the number of ages beyond, give that
// mean exactly.
class DistinctCurve {
  public:
    static constexpr unsigned kOctaves = 33;  // D(1) to D(2^32)

    // Ages that count fully; at least 2, and few enough that no sum of distances overflows.
    static constexpr std::uint64_t kMaxHorizon = std::uint64_t{1} << 29;
    explicit DistinctCurve(std::uint64_t horizon) noexcept : horizon_(horizon) {
        UNECHO_ASSERT(horizon >= 2 && horizon <= kMaxHorizon);
    }

    // A key came whose last insertion had this many after it.
    void add(std::uint64_t age) noexcept {
        const std::uint64_t distance = std::min(age, kFarthest) + 1;
        const auto octave = static_cast<unsigned>(std::bit_width(distance)) - 1;
        ++keys_[octave];
        distances_[octave] += distance;
        count();
    }
    // A key came that was not there before, or longer ago than can be told. D(j) is right up to the
    // age from which on this is called.
    void add_new() noexcept {
        ++keys_[kOctaves];
        count();
    }

    // D(2^e), e below kOctaves; absent any key, 2^e: nothing known comes again.
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
                // The octave's mean distance stays what it was.
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
    std::array<std::uint64_t, kOctaves + 1> keys_{};  // by octave of I + 1; the last: not known
    std::array<std::uint64_t, kOctaves> distances_{};
};

// D(2^e) of the keys that come, where the ages are those that a timing filter shows, accidents
// included. What it shows is the lesser of the true age and that of an accident, so that
//     P(shown >= n) = P(true >= n) P(accident >= n);
// probes are the ages that it shows for random digests, the accidents alone: a probe for some of
// the packets will do. Exact but that within an octave the accidents are taken at their mean: some
// percent too much where an octave makes the difference between few accidents and nothing else.
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
