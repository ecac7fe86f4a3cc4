// SPDX-License-Identifier: BSD-3-Clause
// Ages in logarithmic bins, ten per power of ten, with the causes of the echoes in each. The edges
// of the bins are those of decibels (1, 1.26, 1.58, 2, 2.51, ...). Every window bucket (1, 2, 5) is
// an edge, so a bin lies completely inside or outside a window.
//
// Ages are multiples of the timestamp resolution. Where bins are hardly wider than that, some
// contain more multiples than their neighbours, and some contain none. The latter are left out, and
// density() gives comparable numbers.
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
// The first seven digits of 10^(i/10), with 2 and 5 made exact.
inline constexpr std::array<Nanoseconds, 10> kSteps{1'000'000, 1'258'925, 1'584'893, 2'000'000,
                                                    2'511'886, 3'162'278, 3'981'072, 5'000'000,
                                                    6'309'573, 7'943'282};

// Call take(edge) for each edge in whole nanoseconds, rising: 0, 1, 2, 3, 4, 5, 7, 8, 10, 13, ...
template <typename Take>
constexpr void each_age_edge(Take take) {
    constexpr Nanoseconds kUnit = 1'000'000;
    Nanoseconds last = 0;
    take(last);
    for (Nanoseconds scale = 1;; scale *= 10) {
        for (const Nanoseconds step : kSteps) {
            // Rounded up below one unit: a whole age exceeds both edges or none.
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

// By bit width: the bin of the smallest age with this width.
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

// Return the smallest age of a bin; for the bin after the last, the largest number.
[[nodiscard]] constexpr Nanoseconds age_bin_low(unsigned bin) noexcept {
    return bin < kAgeBins ? detail::kAgeEdges[bin] : UINT64_MAX;
}

// Return echoes per tenth of a power of ten: the count of a bin, scaled to that width. A bin
// reaches from half a resolution below its smallest age to half a resolution above its largest. The
// bin of age 0 has no width, so its count is returned unscaled.
[[nodiscard]] double density(const AgeBin& bin, Nanoseconds resolution);

class AgeHistogram {
  public:
    void add(Nanoseconds age, Cause cause) noexcept {
        ++counts_[age_bin(age)][static_cast<std::size_t>(cause)];
        youngest_ = std::min(youngest_, age);
        oldest_ = std::max(oldest_, age);
    }
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

    // resolution: all ages are multiples of it.
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

// Return the largest age of the bin that reaches the share q of the echoes, at most ages.oldest; 0
// without echoes.
[[nodiscard]] Nanoseconds quantile(const Ages& ages, double q);

}  // namespace unecho::analyze
