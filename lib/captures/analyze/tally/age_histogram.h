// SPDX-License-Identifier: BSD-3-Clause
// Ages in logarithmic bins, ten to a power of ten, with the causes of the echoes in each. Their
// edges are those of decibels (1, 1.26, 1.58, 2, 2.51, ...), so each window of the ladder (1, 2, 5)
// is one, and a bin lies within a window or outside.
//
// Ages are whole numbers of the resolution of timestamps. Where bins are not much longer than that,
// some hold more of these than their neighbours, and some none: the latter are left out, and
// density() says what is comparable.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "captures/analyze/report/report.h"

namespace unecho::analyze {

namespace detail {
// Of the first seven digits of 10^(i/10), 2 and 5 made exact.
inline constexpr std::array<Nanoseconds, 10> kSteps{1'000'000, 1'258'925, 1'584'893, 2'000'000,
                                                    2'511'886, 3'162'278, 3'981'072, 5'000'000,
                                                    6'309'573, 7'943'282};

// Calls take(edge) with each edge in whole nanoseconds, rising: 0, 1, 2, 3, 4, 5, 7, 8, 10, 13, ...
template <typename Take>
constexpr void each_age_edge(Take take) {
    constexpr Nanoseconds kUnit = 1'000'000;
    Nanoseconds last = 0;
    take(last);
    for (Nanoseconds scale = 1;; scale *= 10) {
        for (const Nanoseconds step : kSteps) {
            // Below a unit rounded up: whole ages are above the one where they are above the other.
            const Nanoseconds below = kUnit / std::min(scale, kUnit);
            const Nanoseconds times = scale / (kUnit / below);
            if (step / below > UINT64_MAX / times) {
                return;
            }
            const Nanoseconds edge = (step + below - 1) / below * times;
            if (edge != last) {
                take(edge);
                last = edge;
            }
        }
    }
}

constexpr unsigned count_age_edges() {
    unsigned count = 0;
    each_age_edge([&](Nanoseconds) { ++count; });
    return count;
}
}  // namespace detail

inline constexpr unsigned kAgeBins = detail::count_age_edges();

namespace detail {
inline constexpr std::array<Nanoseconds, kAgeBins> kAgeEdges = [] {
    std::array<Nanoseconds, kAgeBins> out{};
    unsigned i = 0;
    each_age_edge([&](Nanoseconds edge) { out[i++] = edge; });
    return out;
}();

// By bit width: the bin of the least such age.
inline constexpr std::array<std::uint8_t, 65> kAgeStarts = [] {
    std::array<std::uint8_t, 65> out{};
    for (unsigned width = 1; width < out.size(); ++width) {
        unsigned bin = out[width - 1];
        while (bin + 1 < kAgeBins && kAgeEdges[bin + 1] <= Nanoseconds{1} << (width - 1)) {
            ++bin;
        }
        out[width] = static_cast<std::uint8_t>(bin);
    }
    return out;
}();
static_assert(kAgeBins <= 256);
}  // namespace detail

[[nodiscard]] constexpr unsigned age_bin(Nanoseconds age) noexcept {
    unsigned bin = detail::kAgeStarts[static_cast<unsigned>(std::bit_width(age))];
    while (bin + 1 < kAgeBins && age >= detail::kAgeEdges[bin + 1]) {
        ++bin;
    }
    return bin;
}

// The least age in a bin; of the bin behind the last, the largest number.
[[nodiscard]] constexpr Nanoseconds age_bin_low(unsigned bin) noexcept {
    return bin < kAgeBins ? detail::kAgeEdges[bin] : UINT64_MAX;
}

// Echoes for each tenth of a power of ten, as many as in the bin where that is as wide. Its ages
// lie within half a step of the resolution of those that it holds. Those of an age of 0 have no
// width.
[[nodiscard]] double density(const AgeBin& bin, Nanoseconds resolution);

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

    void add(const AgeHistogram& others) noexcept {
        for (unsigned bin = 0; bin < kAgeBins; ++bin) {
            add(bin, others.counts_[bin], others.youngest_, others.oldest_);
        }
    }

    // All ages are whole numbers of the resolution.
    [[nodiscard]] Ages ages(Nanoseconds resolution = 1) const;

    template <typename Io>
    void state(Io& io) {
        io(counts_, youngest_, oldest_);
    }

  private:
    std::array<Causes, kAgeBins> counts_{};
    Nanoseconds youngest_ = UINT64_MAX;
    Nanoseconds oldest_ = 0;
};

// The oldest age of the bin in which the share q of the echoes is reached, at most oldest; 0
// without echoes.
[[nodiscard]] Nanoseconds quantile(const Ages& ages, double q);

}  // namespace unecho::analyze
