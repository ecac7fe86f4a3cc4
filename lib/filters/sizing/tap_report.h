// SPDX-License-Identifier: BSD-3-Clause
// The array of filters/tap_report.h: how large for so many flows, and how far its numbers are off.
// Pure arithmetic.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "filters/sizing/sets/shbf.h"

namespace unecho::sizing {

// An answer is the region alone with this probability at the end of a window of as many flows as
// planned, each of them on both taps.
inline constexpr double kTapClear = 0.999;

// Bits of one of the two arrays, for so many flows of a window.
Result<ShbfGeometry> size_tap_report(std::uint64_t flows);

// The expected numbers of a stream: told of the first packet of each flow on each tap, in their
// order; any other packet changes nothing.
//
// With f the chance that a region matches by accident, fill^k: a new flow is counted if neither
// its own nor the other region matches, or only kBoth: with (1 - f)^2, equation (16). If the other
// region alone matches, it is taken for a flow from there that comes to both: with f (1 - f)^2. A
// known flow's first packet on the other tap makes it one of both unless that tap's region or kBoth
// matches: with (1 - f)^2, whatever its first packet was taken for.
class TapExpectation {
  public:
    explicit TapExpectation(const ShbfGeometry& geometry);

    // The first packet of a flow; its first on the other tap.
    void new_flow() noexcept;
    void known_flow() noexcept;

    [[nodiscard]] double flows() const noexcept { return flows_; }  // counted
    [[nodiscard]] double both() const noexcept { return both_; }
    // The chance of a match by accident now.
    [[nodiscard]] double chance() const noexcept;

  private:
    // So many elements on average, at this chance of a match.
    void insert(double elements, double f) noexcept;

    double k_;
    double share_;  // of the bits that an element takes
    double zero_ = 1;
    double flows_ = 0;
    double both_ = 0;
};

}  // namespace unecho::sizing
