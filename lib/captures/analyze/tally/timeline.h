// SPDX-License-Identifier: BSD-3-Clause
// Counts over time, in bounded memory: packets in each part of the capture, and peak rates.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "captures/analyze/report/report.h"
#include "captures/analyze/tally/windows.h"

namespace unecho::analyze {

// Counts in at most 256 bins. If a capture outgrows them, pairs of bins become one.
class Timeline {
  public:
    static constexpr std::size_t kMost = 256;
    static constexpr Nanoseconds kShortest = 100 * kMicrosecond;

    // since_start never decreases.
    void add(Nanoseconds since_start, std::uint64_t length, bool echo) {
        Bin& bin = is_latest(since_start) ? bins_[latest_] : at(since_start);
        bin.total.add(length);
        if (echo) {
            bin.echoes.add(length);
        }
    }

    [[nodiscard]] Nanoseconds width() const noexcept { return width_; }
    [[nodiscard]] std::vector<TimeBin> bins() const;

    // Add other packets of the same time span.
    void add(const Timeline& others);
    // Add a capture that began `by` later. Each of its bins goes where its middle falls.
    void add_shifted(const Timeline& others, Nanoseconds by);
    // Return true if add() could have produced this.
    [[nodiscard]] bool valid() const noexcept;

    template <typename Io>
    void state(Io& io) {
        io(width_, bins_);
    }

  private:
    struct Bin {
        static constexpr bool kSparse = true;
        Count total;
        Count echoes;

        bool operator==(const Bin&) const = default;
        template <typename Io>
        void state(Io& io) {
            io(total, echoes);
        }
    };
    void halve();
    [[nodiscard]] bool is_latest(Nanoseconds since_start) const noexcept {
        return since_start - latest_begin_ < width_ && latest_ < bins_.size();
    }
    // Return the bin of this time, after making room for it.
    Bin& at(Nanoseconds since_start);

    Nanoseconds width_ = kShortest;
    std::vector<Bin> bins_;
    // The bin that at() returned last, and when it begins.
    std::size_t latest_ = 0;
    Nanoseconds latest_begin_ = 0;
};

// Peaks for each window from kShortestWindow on: the most packets that came while about one
// generation of a filter fills. A filter has at most about 16 generations in a window, so stretches
// of a 16th are summed, in steps of a quarter of a stretch. A burst of up to three steps lies
// completely within one of them, wherever it begins.
class PeakCounts;

class PeakRates {
  public:
    static constexpr Nanoseconds kShortestWindow = kMillisecond;
    static constexpr unsigned kGenerations = 16;
    static constexpr unsigned kFirst = windows_up_to(kShortestWindow - 1);
    static constexpr unsigned kCount = kWindows - 1 - kFirst;

    // since_start never decreases. windows: those whose filter inserts the packet.
    void add(Nanoseconds since_start, WindowMask windows) noexcept {
        if (since_start >= next_end_) [[unlikely]] {
            end_steps(since_start);
        }
        const WindowMask taken = windows >> kFirst & kAll;
        if (taken == kAll) {
            ++all_;
        } else {
            add_some(taken);
        }
    }

    struct Peak {
        Nanoseconds stretch = 0;
        std::uint64_t most = 0;   // upper bound
        std::uint64_t least = 0;  // lower bound

        [[nodiscard]] double per_second() const noexcept { return rate_of(most); }
        [[nodiscard]] double rate_of(std::uint64_t packets) const noexcept {
            return static_cast<double>(packets) * static_cast<double>(kSecond) /
                   static_cast<double>(stretch);
        }
    };
    // window: index in kWindowBuckets, of kShortestWindow or longer, but not the one without end.
    [[nodiscard]] Peak peak(unsigned window) const noexcept;

    [[nodiscard]] PeakCounts counts() const noexcept;

  private:
    static constexpr unsigned kSteps = 4;
    static_assert(kWindowBuckets[kFirst] == kShortestWindow);
    static_assert(kShortestWindow % (kGenerations * kSteps) == 0);

    static constexpr WindowMask kAll = (WindowMask{1} << kCount) - 1;

    struct Stretch {
        std::uint64_t sum = 0;
        std::uint64_t most = 0;
        std::array<std::uint64_t, kSteps> steps{};
        std::uint64_t all_before = 0;  // all_ when the step began
        std::uint64_t some = 0;        // packets of the step that are not in all_
        unsigned at = 0;
    };
    void add_some(WindowMask taken) noexcept;
    // End the steps that are over. A sum grows until its step ends, so maxima are taken then.
    void end_steps(Nanoseconds now) noexcept;
    [[nodiscard]] std::uint64_t in_step(const Stretch& stretch) const noexcept {
        return all_ - stretch.all_before + stretch.some;
    }

    std::array<Nanoseconds, kCount> ends_{};  // of the steps that are being filled
    Nanoseconds next_end_ = 0;
    std::uint64_t all_ = 0;  // packets that are counted in every stretch
    std::array<Stretch, kCount> stretches_{};
};

// Mergeable peaks. The peak of several parts of the same packets is at most the sum of their peaks,
// and at least the largest of them.
class PeakCounts {
  public:
    // Add other packets of the same time. all: peaks of all packets together, which bound the sum.
    void add_concurrent(const PeakCounts& others, const PeakCounts& all) noexcept;
    // Take the larger peaks: for packets of another time, or of other filters.
    void take_maxima(const PeakCounts& others) noexcept;

    [[nodiscard]] PeakRates::Peak peak(unsigned window) const noexcept;

    template <typename Io>
    void state(Io& io) {
        io(most_, least_);
    }

  private:
    friend class PeakRates;
    std::array<std::uint64_t, PeakRates::kCount> most_{};
    std::array<std::uint64_t, PeakRates::kCount> least_{};
};

}  // namespace unecho::analyze
