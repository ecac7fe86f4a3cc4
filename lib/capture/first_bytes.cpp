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

// Of the records of an ERF file, which has no header of its own: by the type of its first record.
constexpr std::array kErfTypes{
    Known{"\x01\x0A\x0F\x11\x13"sv, "HDLC"},
    Known{"\x02\x0B\x10\x14"sv, "Ethernet"},
    Known{"\x03\x04\x07\x09\x0C\x12"sv, "ATM"},
    Known{"\x05\x06\x08"sv, "multichannel"},
    Known{"\x15\x19"sv, "InfiniBand"},
    Known{"\x16"sv, "IPv4"},
    Known{"\x17"sv, "IPv6"},
    Known{"\x18"sv, "raw link"},
    Known{"\x1B"sv, "metadata first"},
    Known{"\x1C\x1D"sv, "Omni-Path"},
};
constexpr std::size_t kErfHeader = 16;

std::uint32_t big_endian(std::span<const std::uint8_t> bytes, std::size_t at) {
    return bytes[at] * 256U + bytes[at + 1];
}

// The kind of an ERF record with a time from 1990 to 2069; empty if it cannot be one.
std::string_view erf_kind(std::span<const std::uint8_t> record) {
    constexpr std::uint8_t kEarliest = 0x26;  // of the highest byte of seconds
    constexpr std::uint8_t kLatest = 0xBB;
    constexpr std::uint8_t kType = 0x7F;  // without the mark of extension headers
    if (record.size() < kErfHeader || big_endian(record, 10) < kErfHeader ||
        record[7] < kEarliest || record[7] > kLatest) {
        return {};
    }
    const auto type = static_cast<char>(record[8] & kType);
    const auto* const known = std::find_if(
        kErfTypes.begin(), kErfTypes.end(),
        [&](const Known& one) { return one.magic.find(type) != std::string_view::npos; });
    return known == kErfTypes.end() ? std::string_view() : known->what;
}

// The second record has to be one as well, as far as it is there.
std::string_view erf_file_kind(std::span<const std::uint8_t> bytes) {
    const std::string_view kind = erf_kind(bytes);
    if (kind.empty()) {
        return {};
    }
    const std::size_t next = big_endian(bytes, 10);
    return bytes.size() < next + kErfHeader || !erf_kind(bytes.subspan(next)).empty()
               ? kind
               : std::string_view();
}

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
    if (const std::string_view erf = is_text(start) ? std::string_view() : erf_file_kind(bytes);
        !erf.empty()) {
        return head + ", an ERF capture (" + std::string(erf) + "), which editcap -F pcap converts";
    }
    if (is_text(start)) {
        std::string text(start.begin(), start.end());
        text.erase(std::find_if(text.begin(), text.end(), [](char c) { return c < ' '; }),
                   text.end());
        return head + (text.empty() ? ", text" : ", the text \"" + text + "\"");
    }
    return head;
}

}  // namespace unecho::capture
