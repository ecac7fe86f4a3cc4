// SPDX-License-Identifier: BSD-3-Clause
// Text of the report's page, made safe for HTML. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "captures/view/wording.h"

namespace unecho::view {

// Escape text for HTML and for attributes in double quotes. Bytes that are not UTF-8, and control
// characters, become U+FFFD, so any file name leaves the page valid.
std::string escape(std::string_view text);

// Return a number for an attribute of SVG or CSS: at most two decimals, no trailing zeros.
std::string coordinate(double value);

}  // namespace unecho::view
