// SPDX-License-Identifier: BSD-3-Clause
#include "capture/first_bytes.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "capture/compression.h"

namespace unecho::capture {
namespace {

using std::string_view_literals::operator""sv;

struct Known {
    std::string_view magic;
    std::string_view what;
};

// What people have beside their captures, or a capture that some other program must open first.
constexpr std::array kKnown{
    Known{"\xFF\xD8\xFF"sv, "a JPEG image"},
    Known{"\x89PNG"sv, "a PNG image"},
    Known{"GIF8"sv, "a GIF image"},
    Known{"\x7F"
          "ELF"sv,
          "an ELF program"},
    Known{"%PDF"sv, "a PDF document"},
    Known{"\xFD"
          "7zXZ"sv,
          "an xz file, to be decompressed first"},
    Known{"BZh"sv, "a bzip2 file, to be decompressed first"},
    Known{"PK\x03\x04"sv, "a zip archive"},
    Known{"snoop\0\0\0"sv, "a snoop capture, which editcap -F pcap converts"},
};

std::string hex(std::span<const std::uint8_t> bytes) {
    std::string out;
    for (const std::uint8_t byte : bytes) {
        char digits[4];
        std::snprintf(digits, sizeof(digits), out.empty() ? "%02x" : " %02x", byte);
        out += digits;
    }
    return out;
}

bool is_text(std::span<const std::uint8_t> bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) {
        return (byte >= ' ' && byte <= '~') || byte == '\t' || byte == '\n' || byte == '\r';
    });
}

}  // namespace

std::string describe_first_bytes(std::span<const std::uint8_t> bytes) {
    constexpr std::size_t kShown = 4;
    constexpr std::size_t kText = 16;
    const auto begins = [&](const Known& known) { return begins_with(bytes, known.magic); };
    const std::string head = "begins with " + hex(bytes.first(std::min(bytes.size(), kShown)));
    if (compression_of(bytes) == Compression::kGzip) {
        return head + ", a gzip file within a gzip file";
    }
    const auto* const known = std::find_if(kKnown.begin(), kKnown.end(), begins);
    if (known != kKnown.end()) {
        return head + ", " + std::string(known->what);
    }
    const auto start = bytes.first(std::min(bytes.size(), kText));
    if (is_text(start)) {
        std::string text(start.begin(), start.end());
        text.erase(std::find_if(text.begin(), text.end(), [](char c) { return c < ' '; }),
                   text.end());
        return head + (text.empty() ? ", text" : ", the text \"" + text + "\"");
    }
    return head;
}

}  // namespace unecho::capture
