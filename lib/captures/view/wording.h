// SPDX-License-Identifier: BSD-3-Clause
// Words and lines of reports, in addition to base/humanize.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/units.h"

namespace unecho::view {

// "2026-11-21 14:36:19", in UTC
std::string date_text(Nanoseconds since_1970);
// Break text into lines of at most so many columns with this indent; long words stay whole, and a
// number stays with its unit.
std::string wrapped(std::string_view text, std::string_view indent, std::size_t columns = 96);
// Quote a path so that a shell takes it as one word.
std::string shell_word(const std::string& path);
// Return `width` times the share as #, at least one unless the share is 0.
std::string bar(double share, std::size_t width);

}  // namespace unecho::view
