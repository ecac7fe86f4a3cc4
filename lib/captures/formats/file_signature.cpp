// SPDX-License-Identifier: BSD-3-Clause
#include "captures/formats/file_signature.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/join_text.h"
#include "captures/compression/compression.h"

namespace unecho::capture {
namespace {

using std::string_view_literals::operator""sv;

struct Known {
    std::string_view magic;
    std::string_view what;
};

// Files that users have beside their captures, and captures that another program must convert.
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
};

// The types of ERF records. An ERF file has no header, so its first record must be recognised.
constexpr std::array kErfTypes{
    Known{"\x01\x0A\x0F\x11\x13"sv, "HDLC"},
    Known{"\x02\x0B\x10\x14"sv, "Ethernet"},
    Known{"\x03\x04\x07\x09\x0C\x12"sv, "ATM"},
    Known{"\x05\x06\x08"sv, "multichannel"},
    Known{"\x15\x19"sv, "InfiniBand"},
    Known{"\x16"sv, "IPv4"},
    Known{"\x17"sv, "IPv6"},
    Known{"\x18"sv, "raw link"},
    Known{"\x1B"sv, "metadata"},
    Known{"\x1C\x1D"sv, "Omni-Path"},
};
constexpr std::size_t kErfHeader = 16;
constexpr std::uint8_t kErfMetadata = 0x1B;

std::size_t erf_length(std::span<const std::uint8_t> record) {
    return record[10] * 256U + record[11];
}

std::uint8_t erf_type(std::span<const std::uint8_t> record) {
    constexpr std::uint8_t kWithoutExtensionMark = 0x7F;
    return record[8] & kWithoutExtensionMark;
}

// Return an ERF record's kind, or nothing. Its time is from 1990 to 2069, or unset with metadata.
std::string_view erf_kind(std::span<const std::uint8_t> record) {
    constexpr std::uint8_t kEarliest = 0x26;  // highest byte of the seconds
    constexpr std::uint8_t kLatest = 0xBB;
    if (record.size() < kErfHeader || erf_length(record) < kErfHeader) {
        return {};
    }
    const std::uint8_t type = erf_type(record);
    const bool untimed = type == kErfMetadata && record[7] == 0;
    if (!untimed && (record[7] < kEarliest || record[7] > kLatest)) {
        return {};
    }
    const auto* const known =
        std::find_if(kErfTypes.begin(), kErfTypes.end(), [&](const Known& one) {
            return one.magic.find(static_cast<char>(type)) != std::string_view::npos;
        });
    return known == kErfTypes.end() ? std::string_view() : known->what;
}

// Return the kind of the first record that is not metadata. The record behind it must be valid too.
std::string_view erf_file_kind(std::span<const std::uint8_t> bytes) {
    std::string_view kind = erf_kind(bytes);
    while (!kind.empty() && bytes.size() >= erf_length(bytes) + kErfHeader) {
        const bool metadata = erf_type(bytes) == kErfMetadata;
        bytes = bytes.subspan(erf_length(bytes));
        const std::string_view next = erf_kind(bytes);
        if (!metadata || next.empty()) {
            return next.empty() ? next : kind;
        }
        kind = next;
    }
    return kind;
}

std::string hex(std::span<const std::uint8_t> bytes) {
    return join_text(bytes, " ", [](std::uint8_t byte) { return format_number("%02x", byte); });
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
    if (detect_compression(bytes) == Compression::kGzip) {
        return head + ", a gzip file within a gzip file";
    }
    const auto* const known = std::find_if(kKnown.begin(), kKnown.end(), begins);
    if (known != kKnown.end()) {
        return fmt::format("{}, {}", head, known->what);
    }
    const auto start = bytes.first(std::min(bytes.size(), kText));
    if (const std::string_view erf = is_text(start) ? std::string_view() : erf_file_kind(bytes);
        !erf.empty()) {
        return fmt::format("{}, an ERF capture ({}), which editcap -F pcap converts", head, erf);
    }
    if (is_text(start)) {
        std::string text(start.begin(), start.end());
        text.erase(std::find_if(text.begin(), text.end(), [](char c) { return c < ' '; }),
                   text.end());
        return head + (text.empty() ? ", text" : fmt::format(", the text \"{}\"", text));
    }
    return head;
}

}  // namespace unecho::capture
