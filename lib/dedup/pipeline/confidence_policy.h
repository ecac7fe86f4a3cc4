// SPDX-License-Identifier: BSD-3-Clause
// Decides which matches of a filter are echoes, by a limit on each packet's chance of an accident.
//   bound    one limit for all
//   penalty  the answer of least expected cost ("Inferential Time-Decaying Bloom Filters", section
//            2.6): dropping costs P(accident | match) * a false drop, forwarding costs
//            P(echo | match) * a leaked echo. An echo always matches, any other packet with the
//            chance c of an accident. With a share s of echoes, Bayes' rule gives: an echo iff
//                c <= s / (1 - s) * leak / false drop.
//            The costs depend on the packet's traffic class; s is learned from the answers.
// One policy for each filter and worker. May not: allocate, read a clock.
#pragma once

#include <array>
#include <cstdint>

#include "dedup/pipeline/burst.h"
#include "filters/confidence_filter.h"
#include "filters/inferential_prior.h"
#include "packets/parse.h"

namespace unecho::pipeline {

// Cost of a leaked echo relative to that of a false drop, by DSCP; the last one without a DSCP.
using CostRatios = std::array<float, packet::kDscps + 1>;

class ConfidencePolicy {
  public:
    static ConfidencePolicy bound(float most_chance) noexcept;
    static ConfidencePolicy penalty(const CostRatios& ratios) noexcept;

    // Return the limits for the keyed packets of a burst, side by side. each: memory for them.
    // Needs the stages parse and digest.
    [[nodiscard]] filter::ChanceLimits limits(const Burst& burst,
                                              std::array<float, kMaxBurst>& each) const noexcept;

    // Learn the share of echoes from so many answers. matches: echoes and uncertain matches alike,
    // because an uncertain match was not shown to be an accident.
    void learn(std::uint64_t matches, unsigned answers) noexcept;
    // Return true now and then: set_chance() is due.
    [[nodiscard]] bool needs_chance() const noexcept { return learns_ && since_chance_ >= kEvery; }
    void set_chance(float chance) noexcept {
        chance_ = chance;
        since_chance_ = 0;
    }

    // Return the share of echoes among all packets, without the expected accidents.
    [[nodiscard]] double echo_share() const noexcept;

  private:
    // Answers that count fully for the share, and answers between two updates of the chance.
    static constexpr std::uint64_t kHorizon = 1U << 16;
    static constexpr unsigned kEvery = 1U << 10;

    ConfidencePolicy() noexcept;

    bool learns_ = false;
    bool by_class_ = false;
    float most_chance_ = 1;  // bound
    CostRatios ratios_{};    // penalty
    filter::EchoShare matches_{kHorizon};
    double accidents_ = 0;  // sum of the chances over the answers in matches_
    float chance_ = 0;
    unsigned since_chance_ = kEvery;
};

}  // namespace unecho::pipeline
