// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/timeline.h"

#include <algorithm>

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
}

void Timeline::add(Nanoseconds since_start, std::uint64_t length, bool echo) {
    while (since_start / width_ >= kMost) {
        halve();
    }
    const std::size_t at = since_start / width_;
    if (at >= bins_.size()) {
        bins_.resize(at + 1);
    }
    bins_[at].total.add(length);
    if (echo) {
        bins_[at].echoes.add(length);
    }
}

std::vector<TimeBin> Timeline::bins() const {
    std::vector<TimeBin> out;
    for (const Bin& bin : bins_) {
        out.push_back({out.size() * width_, bin.total, bin.echoes});
    }
    return out;
}

void PeakRates::add(Nanoseconds since_start, WindowMask windows) noexcept {
    for (unsigned i = 0; i < kCount; ++i) {
        Stretch& stretch = stretches_[i];
        if (since_start >= stretch.end) {
            advance(stretch, kLadder[kFirst + i] / (kGenerations * kSteps), since_start);
        }
        const std::uint64_t one = windows >> (kFirst + i) & 1U;
        stretch.steps[stretch.at] += one;
        stretch.sum += one;
        stretch.most = std::max(stretch.most, stretch.sum);
    }
}

// The step that now lies in begins, empty, and as many old ones end.
void PeakRates::advance(Stretch& stretch, Nanoseconds step, Nanoseconds now) noexcept {
    const Nanoseconds steps = (now - stretch.end) / step + 1;
    for (Nanoseconds i = 0; i < std::min<Nanoseconds>(steps, kSteps); ++i) {
        stretch.at = (stretch.at + 1) % kSteps;
        stretch.sum -= stretch.steps[stretch.at];
        stretch.steps[stretch.at] = 0;
    }
    stretch.end += steps * step;
}

PeakRates::Peak PeakRates::peak(unsigned window) const noexcept {
    return {kLadder[window] / kGenerations, stretches_[window - kFirst].most};
}

}  // namespace unecho::analyze
