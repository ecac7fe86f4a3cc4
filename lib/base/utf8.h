// SPDX-License-Identifier: BSD-3-Clause
// Text from anywhere: names of files and interfaces are bytes that somebody else chose.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace unecho {

// Bytes of the UTF-8 character at the beginning of text, which is not empty; 0 if there is none
// (RFC 3629, section 4).
std::size_t utf8_length(std::string_view text);

// For a terminal and for comments: control characters, and bytes that are no UTF-8, become '?'.
std::string printable(std::string_view text);

// For messages, in which the text should still be known: they become "\x1b", a byte each.
std::string escaped(std::string_view text);

// For JSON: bytes that are no UTF-8 become U+FFFD.
std::string valid_utf8(std::string_view text);

// Its beginning and its end with "..." between, of at most so many bytes (9 or more); characters
// stay whole.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace unecho
