// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/tally/timeline.h"

#include <algorithm>
#include <bit>

namespace unecho::analyze {

void Timeline::halve() {
    for (std::size_t i = 0; i < bins_.size(); i += 2) {
        Bin bin = bins_[i];
        if (i + 1 < bins_.size()) {
            bin.total += bins_[i + 1].total;
            bin.echoes += bins_[i + 1].echoes;
        }
        bins_[i / 2] = bin;
    }
    bins_.resize((bins_.size() + 1) / 2);
    width_ *= 2;
    latest_ /= 2;
    latest_begin_ = latest_ * width_;
}

Timeline::Bin& Timeline::at(Nanoseconds since_start) {
    if (!is_latest(since_start)) {
        while (since_start / width_ >= kMost) {
            halve();
        }
        latest_ = since_start / width_;
        latest_begin_ = latest_ * width_;
        bins_.resize(std::max(bins_.size(), latest_ + 1));
    }
    return bins_[latest_];
}

// Both began at the same time, so bins of equal width coincide.
void Timeline::add(const Timeline& others) {
    add_shifted(others, 0);
}

void Timeline::add_shifted(const Timeline& others, Nanoseconds by) {
    while (width_ < others.width_) {
        halve();
    }
    for (std::size_t i = 0; i < others.bins_.size(); ++i) {
        if (others.bins_[i] != Bin{}) {
            Bin& bin = at(by + i * others.width_ + others.width_ / 2);
            bin.total += others.bins_[i].total;
            bin.echoes += others.bins_[i].echoes;
        }
    }
}

bool Timeline::valid() const noexcept {
    return bins_.size() <= kMost && width_ % kShortest == 0 &&
           std::has_single_bit(width_ / kShortest) && width_ <= UINT64_MAX / 2;
}

std::vector<TimeBin> Timeline::bins() const {
    std::vector<TimeBin> out;
    for (const Bin& bin : bins_) {
        out.push_back({out.size() * width_, bin.total, bin.echoes});
    }
    return out;
}

void PeakRates::add_some(WindowMask taken) noexcept {
    for (WindowMask rest = taken; rest != 0; rest &= rest - 1) {
        ++stretches_[static_cast<unsigned>(std::countr_zero(rest))].some;
    }
}

// Begin the step that contains `now`, empty, and drop as many old ones.
void PeakRates::end_steps(Nanoseconds now) noexcept {
    for (unsigned i = 0; i < kCount; ++i) {
        if (now < ends_[i]) {
            continue;
        }
        Stretch& stretch = stretches_[i];
        const std::uint64_t packets = in_step(stretch);
        stretch.steps[stretch.at] = packets;
        stretch.sum += packets;
        stretch.most = std::max(stretch.most, stretch.sum);
        stretch.all_before = all_;
        stretch.some = 0;
        const Nanoseconds step = kWindowBuckets[kFirst + i] / (kGenerations * kSteps);
        const Nanoseconds steps = (now - ends_[i]) / step + 1;
        for (Nanoseconds n = 0; n < std::min<Nanoseconds>(steps, kSteps); ++n) {
            stretch.at = (stretch.at + 1) % kSteps;
            stretch.sum -= stretch.steps[stretch.at];
            stretch.steps[stretch.at] = 0;
        }
        ends_[i] += steps * step;
    }
    next_end_ = *std::min_element(ends_.begin(), ends_.end());
}

PeakRates::Peak PeakRates::peak(unsigned window) const noexcept {
    return counts().peak(window);
}

PeakCounts PeakRates::counts() const noexcept {
    PeakCounts out;
    for (unsigned i = 0; i < kCount; ++i) {
        const Stretch& stretch = stretches_[i];
        out.most_[i] = std::max(stretch.most, stretch.sum + in_step(stretch));
        out.least_[i] = out.most_[i];
    }
    return out;
}

void PeakCounts::add_concurrent(const PeakCounts& others, const PeakCounts& all) noexcept {
    for (std::size_t i = 0; i < most_.size(); ++i) {
        most_[i] = std::min(most_[i] + others.most_[i], all.most_[i]);
        least_[i] = std::max(least_[i], others.least_[i]);
    }
}

void PeakCounts::take_maxima(const PeakCounts& others) noexcept {
    for (std::size_t i = 0; i < most_.size(); ++i) {
        most_[i] = std::max(most_[i], others.most_[i]);
        least_[i] = std::max(least_[i], others.least_[i]);
    }
}

PeakRates::Peak PeakCounts::peak(unsigned window) const noexcept {
    const unsigned i = window - PeakRates::kFirst;
    return {kWindowBuckets[window] / PeakRates::kGenerations, most_[i], least_[i]};
}

}  // namespace unecho::analyze
