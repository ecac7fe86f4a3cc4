// SPDX-License-Identifier: BSD-3-Clause
// Safe handling of text from outside. Names of files and interfaces, configuration values, replies
// of Redis and of telemetry sockets are bytes that somebody else chose. Escape them where they
// enter a message, and again where text leaves the program for a terminal, a log or telemetry:
// escaping twice changes nothing more. Serializers replace invalid bytes and never throw.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace unecho {

// Return the length in bytes of the UTF-8 character at the beginning of `text`, which is not empty;
// 0 if it does not begin with one (RFC 3629, section 4).
std::size_t utf8_length(std::string_view text);

// For terminals and comments: replace control characters and bytes that are not UTF-8 by '?'.
// Control characters are C0, DEL, C1, and Unicode's line separators and direction marks.
std::string printable(std::string_view text);

// For messages: replace the same bytes by "\x1b" and the like, so that the text can be recognised.
std::string escaped(std::string_view text);

// Like escaped(), but keep line ends.
std::string escaped_lines(std::string_view text);

// Like escaped_lines(), and "\xd0" for bytes beyond ASCII, which DPDK's telemetry cannot write.
std::string escaped_ascii(std::string_view text);

// For JSON: replace bytes that are not UTF-8 by U+FFFD.
std::string valid_utf8(std::string_view text);

// Return the beginning of `text` with "...", in `most` bytes (3 or more). Split no character.
std::string truncated(std::string_view text, std::size_t most);

// Likewise, but with the beginning and the end of `text` around "..."; `most` is 9 or more.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace unecho
