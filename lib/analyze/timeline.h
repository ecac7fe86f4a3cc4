// SPDX-License-Identifier: BSD-3-Clause
// Over time, in bounded memory: what came in each stretch of the capture, and the highest rates.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyze/report.h"
#include "base/units.h"

namespace unecho::analyze {

// At most 256 bins; when the capture outgrows them, each two become one and the bins twice as long.
class Timeline {
  public:
    static constexpr std::size_t kMost = 256;
    static constexpr Nanoseconds kShortest = 100 * kMicrosecond;

    // since_start never steps back.
    void add(Nanoseconds since_start, std::uint64_t length, bool echo);

    [[nodiscard]] Nanoseconds width() const noexcept { return width_; }
    [[nodiscard]] std::vector<TimeBin> bins() const;

  private:
    struct Bin {
        Count total;
        Count echoes;
    };
    void halve();

    Nanoseconds width_ = kShortest;
    std::vector<Bin> bins_;
};

// The most that came in any stretch of a length, stretches side by side.
class PeakRates {
  public:
    static constexpr std::array<Nanoseconds, 4> kStretches{kMillisecond, 10 * kMillisecond,
                                                           100 * kMillisecond, kSecond};

    void add(Nanoseconds since_start) noexcept;

    struct Peak {
        Nanoseconds stretch = 0;
        std::uint64_t most = 0;

        [[nodiscard]] double per_second() const noexcept {
            return static_cast<double>(most) * static_cast<double>(kSecond) /
                   static_cast<double>(stretch);
        }
    };
    [[nodiscard]] std::array<Peak, kStretches.size()> peaks() const noexcept;

  private:
    struct Stretch {
        std::uint64_t number = 0;
        std::uint64_t count = 0;
        std::uint64_t most = 0;
    };
    std::array<Stretch, kStretches.size()> stretches_{};
};

}  // namespace unecho::analyze
