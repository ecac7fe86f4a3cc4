// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/humanize.h"

namespace unecho {

// Format a duration as the web page does, "10 ms": brief_duration() with a space before the unit.
inline std::string duration_text(Nanoseconds time) {
    std::string out = brief_duration(time);
    const std::size_t unit = out.find_first_not_of("0123456789.,");
    if (unit != std::string::npos && out[unit] != ' ') {
        out.insert(unit, " ");
    }
    return out;
}

}  // namespace unecho
