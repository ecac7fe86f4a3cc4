// SPDX-License-Identifier: BSD-3-Clause
// Text of the report's page: numbers as people read them, and everything that comes from a capture
// made harmless. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace unecho::analyze {

// For text and for attributes in double quotes. Bytes that are no UTF-8, and control characters,
// become U+FFFD: a page with a file name from anywhere stays a page.
std::string escape(std::string_view text);

// "1,234,567"
std::string count_text(std::uint64_t count);

// "1 packet", "2,000 packets"
std::string count_text(std::uint64_t count, std::string_view unit);

// "35.4 %", "0.034 %". Only nothing is "0 %" and only all is "100 %"; nothing of nothing is "0 %".
std::string share_text(std::uint64_t part, std::uint64_t whole);

// Three digits and a unit: "12.3 MB" (powers of 1000), "1.23 ms", "3 min 20 s". The space
// before a unit does not break.
std::string bytes_text(std::uint64_t bytes);
std::string duration_text(Nanoseconds duration);

// "7.64 kpps", "39.1 Mbit/s"
std::string packet_rate_text(double per_second);
std::string bit_rate_text(double per_second);

// A number for an attribute of SVG or CSS: two decimals at most, no trailing zeros.
std::string coordinate(double value);

}  // namespace unecho::analyze
