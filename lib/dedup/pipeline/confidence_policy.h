// SPDX-License-Identifier: BSD-3-Clause
// Which matches of a lane are echoes: the limit on the chance of an accident for each packet.
//   bound    one limit for all
//   penalty  the answer of least expected cost ("Inferential Time-Decaying Bloom Filters", section
//            2.6): dropping costs P(accident | match) * a false drop, forwarding costs
//            P(echo | match) * a leaked echo. An echo always matches, any other packet with the
//            chance c of an accident, so with a share s of echoes, by Bayes' rule, an echo iff
//                c <= s / (1 - s) * leak / false drop.
//            The costs go by the packet's traffic class, s is learned from the answers.
// One lane's, on one worker. May not: allocate, look at the time.
#pragma once

#include <array>
#include <cstdint>

#include "dedup/pipeline/burst.h"
#include "filters/confidence_filter.h"
#include "filters/inferential_prior.h"
#include "packets/parse.h"

namespace unecho::pipeline {

// Cost of a leaked echo, relative to that of a false drop: by DSCP, the last one for packets that
// have none.
using CostRatios = std::array<float, packet::kDscps + 1>;

class ConfidencePolicy {
  public:
    static ConfidencePolicy bound(float most_chance) noexcept;
    static ConfidencePolicy penalty(const CostRatios& ratios) noexcept;

    // For the keyed packets of a burst, side by side; each is memory for them. Stages parse and
    // digest were.
    [[nodiscard]] filter::ChanceLimits limits(const Burst& burst,
                                              std::array<float, kMaxBurst>& each) const noexcept;

    // The matches among so many answers, doubts too: that they were not echoes enough is no reason
    // to take them for none.
    void learn(std::uint64_t matches, unsigned answers) noexcept;
    // True now and then: the chance of the filter should be told.
    [[nodiscard]] bool needs_chance() const noexcept { return learns_ && since_chance_ >= kEvery; }
    void set_chance(float chance) noexcept {
        chance_ = chance;
        since_chance_ = 0;
    }

    // The share of echoes among all packets, accidents taken out.
    [[nodiscard]] double echo_share() const noexcept;

  private:
    // Answers that count fully for the share, and between two looks at the chance.
    static constexpr std::uint64_t kHorizon = 1U << 16;
    static constexpr unsigned kEvery = 1U << 10;

    ConfidencePolicy() noexcept;

    bool learns_ = false;
    bool by_class_ = false;
    float most_chance_ = 1;  // bound
    CostRatios ratios_{};    // penalty
    filter::EchoShare matches_{kHorizon};
    double accidents_ = 0;  // sum of the chances of all answers that matches_ holds
    float chance_ = 0;
    unsigned since_chance_ = kEvery;
};

}  // namespace unecho::pipeline
