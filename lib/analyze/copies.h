// SPDX-License-Identifier: BSD-3-Clause
// What is counted of echoes while nobody knows yet which of them are copies: by what they will be
// judged by (repeats.h), so that the counts of the copies can be had when all was seen.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "analyze/classify.h"
#include "analyze/repeats.h"
#include "analyze/report.h"
#include "analyze/windows.h"

namespace unecho::analyze {

// Where an echo counts.
struct Seen {
    std::uint64_t length = 0;
    std::uint32_t file = 0;
    std::uint16_t interface = 0;
    std::uint16_t protocol = 0;
    Cause cause = Cause::kIdentical;
    Differences differences = 0;
    WindowMask fixed = 0;  // the windows with which it is dropped, by policy
    WindowMask refresh = 0;
};

struct CopyCounts {
    WindowCounts fixed;
    WindowCounts refresh;
    std::array<Count, kCauses> causes{};
    std::array<std::uint64_t, kDifferences> differences{};
    std::vector<Count> interfaces;  // up to the last that has any
    std::vector<Count> files;
    std::vector<Count> protocols;

    void add(const Seen& echo);
    void add(const CopyCounts& others);
};

class Copies {
  public:
    Copies() : places_(kPlaces) {}

    void add(const Repeats::Place& place, const Seen& echo);

    // Of those that are copies.
    [[nodiscard]] CopyCounts counts(const Repeats::Ends& ends) const;

    // Memory taken.
    [[nodiscard]] std::uint64_t bytes() const noexcept;

  private:
    // Those of the last class are late, which is never a copy.
    static constexpr std::size_t kPlaces = (Repeats::kClasses - 1) * kAgeBins;

    std::vector<std::unique_ptr<CopyCounts>> places_;  // kAgeBins to a class
};

}  // namespace unecho::analyze
