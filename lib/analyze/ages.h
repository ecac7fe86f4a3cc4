// SPDX-License-Identifier: BSD-3-Clause
// Ages in logarithmic bins, four to an octave, with the causes of the echoes in each.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "analyze/report.h"
#include "base/units.h"

namespace unecho::analyze {

inline constexpr unsigned kAgeBins = 252;

[[nodiscard]] constexpr unsigned age_bin(Nanoseconds age) noexcept {
    if (age < 4) {
        return static_cast<unsigned>(age);
    }
    const auto exponent = static_cast<unsigned>(std::bit_width(age)) - 1;
    return 4 * (exponent - 1) + static_cast<unsigned>(age >> (exponent - 2) & 3);
}

// The least age in a bin; of the bin behind the last, the largest number.
[[nodiscard]] constexpr Nanoseconds age_bin_low(unsigned bin) noexcept {
    if (bin < 4) {
        return bin;
    }
    return bin < kAgeBins ? Nanoseconds{4 + bin % 4} << (bin / 4 - 1) : UINT64_MAX;
}

class AgeHistogram {
  public:
    void add(Nanoseconds age, Cause cause) noexcept {
        ++counts_[age_bin(age)][static_cast<std::size_t>(cause)];
        youngest_ = std::min(youngest_, age);
        oldest_ = std::max(oldest_, age);
    }
    // Several whose ages lie in one bin.
    void add(unsigned bin, const Causes& causes, Nanoseconds youngest,
             Nanoseconds oldest) noexcept {
        for (std::size_t i = 0; i < kCauses; ++i) {
            counts_[bin][i] += causes[i];
        }
        youngest_ = std::min(youngest_, youngest);
        oldest_ = std::max(oldest_, oldest);
    }

    [[nodiscard]] Ages ages() const;

  private:
    std::array<Causes, kAgeBins> counts_{};
    Nanoseconds youngest_ = UINT64_MAX;
    Nanoseconds oldest_ = 0;
};

// The upper end of the bin in which the share q of the echoes is reached, at most oldest; 0 without
// echoes.
[[nodiscard]] Nanoseconds quantile(const Ages& ages, double q);

}  // namespace unecho::analyze
