// SPDX-License-Identifier: BSD-3-Clause
// Division of time into generations. A window has l generations of window / l each. A digest of
// generation j is remembered through generation j + l, so at least for a window.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace unecho::filter {

struct GenerationClock {
    Nanoseconds length = 1;  // of one generation, at least 1 ns

    // Return the smallest length whose l generations cover the window.
    static constexpr GenerationClock covering(Nanoseconds window, unsigned l) noexcept {
        const Nanoseconds length = (window + l - 1) / l;
        return {length == 0 ? 1 : length};
    }

    [[nodiscard]] constexpr std::uint64_t generation_of(Nanoseconds now) const noexcept {
        return now / length;
    }
};

}  // namespace unecho::filter
