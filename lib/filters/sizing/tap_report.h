// SPDX-License-Identifier: BSD-3-Clause
// Sizing of the array of filters/tap_report.h, and how far its numbers are off. Pure arithmetic.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "filters/sizing/sets/shbf.h"

namespace unecho::sizing {

// Probability that an answer is the region alone, at the end of a window with the planned number of
// flows, each of them on both taps.
inline constexpr double kTapClear = 0.999;

// Return the geometry of one of the two arrays, for that many flows of a window.
Result<ShbfGeometry> size_tap_report(std::uint64_t flows);

// The expected numbers for a stream. Report the first packet of each flow on each tap, in order;
// other packets change nothing.
//
// Let f = fill^k be the probability that a region matches by accident. A new flow is counted if
// neither its own nor the other tap's region matches, with probability (1 - f)^2, equation (16);
// kBoth may match. If only the other region matches, the flow is taken for one of the other tap
// that now is on both: f (1 - f)^2. A known flow's first packet on the other tap makes it one of
// both, unless that tap's region or kBoth matches. The probability is (1 - f)^2, whatever its first
// packet was taken for.
class TapExpectation {
  public:
    explicit TapExpectation(const ShbfGeometry& geometry);

    // Report the first packet of a new flow, or a known flow's first packet on the other tap.
    void new_flow() noexcept;
    void known_flow() noexcept;

    [[nodiscard]] double flows() const noexcept { return flows_; }  // counted flows
    [[nodiscard]] double both() const noexcept { return both_; }
    // Return the present probability of a match by accident.
    [[nodiscard]] double chance() const noexcept;

  private:
    // Insert that many elements on average, at this probability of a match.
    void insert(double elements, double f) noexcept;

    double k_;
    double share_;  // of the bits, written by one element
    double zero_ = 1;
    double flows_ = 0;
    double both_ = 0;
};

}  // namespace unecho::sizing
