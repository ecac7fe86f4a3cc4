// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/pipeline/confidence_policy.h"

#include <algorithm>

#include "dedup/pipeline/bits.h"

namespace unecho::pipeline {
// Before any packet, echoes and others are equally likely: one of each is assumed seen.
ConfidencePolicy::ConfidencePolicy() noexcept {
    matches_.add(1, 2);
}

ConfidencePolicy ConfidencePolicy::bound(float most_chance) noexcept {
    ConfidencePolicy confidence;
    confidence.most_chance_ = most_chance;
    return confidence;
}

ConfidencePolicy ConfidencePolicy::penalty(const CostRatios& ratios) noexcept {
    ConfidencePolicy confidence;
    confidence.learns_ = true;
    confidence.ratios_ = ratios;
    confidence.by_class_ = std::any_of(ratios.begin(), ratios.end(),
                                       [&](float ratio) { return ratio != ratios.back(); });
    return confidence;
}

filter::ChanceLimits ConfidencePolicy::limits(const Burst& burst,
                                              std::array<float, kMaxBurst>& each) const noexcept {
    if (!learns_) {
        return filter::ChanceLimits(most_chance_);
    }
    const double share = echo_share();
    const auto odds = static_cast<float>(share / (1 - share));
    if (!by_class_) {
        return filter::ChanceLimits(odds * ratios_.back());
    }
    unsigned n = 0;
    for_each_bit(burst.filtered(), [&](unsigned i) {
        each[n++] = odds * ratios_[packet::dscp_of(burst.parsed.at(i))];
    });
    return filter::ChanceLimits(each.data());
}

void ConfidencePolicy::learn(std::uint64_t matches, unsigned answers) noexcept {
    if (!learns_) {
        return;
    }
    const std::uint64_t before = matches_.answers();
    matches_.add(matches, answers);
    accidents_ += static_cast<double>(chance_) * answers;
    if (matches_.answers() < before + answers) {
        accidents_ /= 2;
    }
    since_chance_ += answers;
}

double ConfidencePolicy::echo_share() const noexcept {
    constexpr double kMost = 1 - 0x1p-30;  // odds are finite
    const double accidents = std::min(accidents_ / static_cast<double>(matches_.answers()), kMost);
    return std::min(matches_.share(0, accidents), kMost);
}

}  // namespace unecho::pipeline
