// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/timeline.h"

#include <algorithm>

namespace unecho::analyze {
namespace {

void merge(Count& into, const Count& other) {
    into.packets += other.packets;
    into.bytes += other.bytes;
}

}  // namespace

void Timeline::halve() {
    for (std::size_t i = 0; i < bins_.size(); i += 2) {
        Bin bin = bins_[i];
        if (i + 1 < bins_.size()) {
            merge(bin.total, bins_[i + 1].total);
            merge(bin.echoes, bins_[i + 1].echoes);
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

void PeakRates::add(Nanoseconds since_start) noexcept {
    for (std::size_t i = 0; i < kStretches.size(); ++i) {
        Stretch& stretch = stretches_[i];
        const std::uint64_t number = since_start / kStretches[i];
        stretch.count = number == stretch.number ? stretch.count + 1 : 1;
        stretch.number = number;
        stretch.most = std::max(stretch.most, stretch.count);
    }
}

std::array<PeakRates::Peak, PeakRates::kStretches.size()> PeakRates::peaks() const noexcept {
    std::array<Peak, kStretches.size()> out;
    for (std::size_t i = 0; i < kStretches.size(); ++i) {
        out[i] = {kStretches[i], stretches_[i].most};
    }
    return out;
}

}  // namespace unecho::analyze
