// SPDX-License-Identifier: BSD-3-Clause
// Text of the report's page: numbers for readers, and text from captures made safe for HTML. Pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace unecho::analyze {

// Escape text for HTML and for attributes in double quotes. Bytes that are not UTF-8, and control
// characters, become U+FFFD, so any file name leaves the page valid.
std::string escape(std::string_view text);

// "1,234,567"
std::string count_text(std::uint64_t count);

std::string count_text(std::uint64_t count, std::string_view unit);

// "35.4 %", "0.034 %". Only 0 is "0 %", and only all is "100 %"; 0 of 0 is "0 %".
std::string share_text(std::uint64_t part, std::uint64_t whole);

// Three digits and a unit: "12.3 MB" (powers of 1000), "1.23 ms", "3 min 20 s". The space
// before a unit does not break.
std::string bytes_text(std::uint64_t bytes);
std::string duration_text(Nanoseconds duration);

// "7.64 kpps", "39.1 Mbit/s"
std::string packet_rate_text(double per_second);
std::string bit_rate_text(double per_second);

// Return a number for an attribute of SVG or CSS: at most two decimals, no trailing zeros.
std::string coordinate(double value);

}  // namespace unecho::analyze
