// SPDX-License-Identifier: BSD-3-Clause
// Text from anywhere. Names of files and interfaces, values of a configuration, answers of Redis
// and of telemetry sockets are bytes that somebody else chose. Escape them where they enter a
// message, and again where text leaves the program for a terminal, a log or telemetry: escaping
// twice is escaping once. A serializer replaces what is not valid, and never throws.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace unecho {

// Bytes of the UTF-8 character at the beginning of text, which is not empty; 0 if there is none
// (RFC 3629, section 4).
std::size_t utf8_length(std::string_view text);

// For a terminal and for comments: control characters (C0, DEL, C1, and those that turn the
// direction of text or end a line in Unicode), and bytes that are no UTF-8, become '?'.
std::string printable(std::string_view text);

// For messages, in which the text should still be known: they become "\x1b", a byte each.
std::string escaped(std::string_view text);

// The same of a text of several lines: line ends stay.
std::string escaped_lines(std::string_view text);

// The same, and bytes beyond ASCII become "\xd0", too: DPDK's telemetry cannot write them.
std::string escaped_ascii(std::string_view text);

// For JSON: bytes that are no UTF-8 become U+FFFD.
std::string valid_utf8(std::string_view text);

// Its beginning with "..." behind it, of at most so many bytes (3 or more); characters stay whole.
std::string truncated(std::string_view text, std::size_t most);

// Its beginning and its end with "..." between, of at most so many bytes (9 or more); characters
// stay whole.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace unecho
