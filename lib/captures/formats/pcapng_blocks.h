// SPDX-License-Identifier: BSD-3-Clause
// What reader and writer of pcapng share: blocks, options, times (draft-ietf-opsawg-pcapng).
// Private to capture.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"
#include "captures/record.h"

namespace unecho::capture::pcapng {

inline constexpr std::uint32_t kSectionHeader = 0x0A0D0D0A;  // the same in both byte orders
inline constexpr std::uint32_t kInterfaceBlock = 1;
inline constexpr std::uint32_t kObsoletePacket = 2;
inline constexpr std::uint32_t kSimplePacket = 3;
inline constexpr std::uint32_t kNamesBlock = 4;
inline constexpr std::uint32_t kStatisticsBlock = 5;
inline constexpr std::uint32_t kEnhancedPacket = 6;
inline constexpr std::uint32_t kJournalBlock = 9;
inline constexpr std::uint32_t kSecretsBlock = 10;
inline constexpr std::uint32_t kCustomBlock = 0xBAD;
inline constexpr std::uint32_t kPrivateBlock = 0x4000'0BAD;  // not for a file that was changed

// Stands behind type and length of a section header, in the section's byte order.
inline constexpr std::uint32_t kByteOrderMagic = 0x1A2B'3C4D;

// Codes of options: end and comment of any block, the others of an interface block, but for drops.
inline constexpr std::uint16_t kOptionEnd = 0;
inline constexpr std::uint16_t kOptionComment = 1;
inline constexpr std::uint16_t kOptionName = 2;
inline constexpr std::uint16_t kOptionDrops = 4;  // of an enhanced packet block
inline constexpr std::uint16_t kOptionResolution = 9;
inline constexpr std::uint16_t kOptionOffset = 14;  // of times, in seconds

// Whether Wireshark gives such blocks numbers, as if they were packets.
constexpr bool is_numbered(std::uint32_t type) {
    return type == kJournalBlock || type == kCustomBlock || type == kPrivateBlock;
}

// Type and length before a block's body, the length again behind it.
inline constexpr std::size_t kBlockHeader = 8;
inline constexpr std::size_t kBlockFrame = 12;
inline constexpr std::size_t kUpToMagic = 12;    // of a section header
inline constexpr std::size_t kOptionHeader = 4;  // code and length

// What stands in a block's body before the bytes of a packet, or before the options.
inline constexpr std::size_t kPacketFixed = 20;  // of enhanced and obsolete packets
inline constexpr std::size_t kSimpleFixed = 4;
inline constexpr std::size_t kSectionFixed = 16;
inline constexpr std::size_t kInterfaceFixed = 8;
inline constexpr std::size_t kStatisticsFixed = 12;

__extension__ using int128 = __int128;  // times before 1970, too

using ByteSpan = std::span<const std::uint8_t>;

// Blocks are padded to four bytes even if their length, against the rules, is no multiple of it.
constexpr std::size_t padding(std::size_t length) {
    return -length % 4;
}

constexpr std::uint64_t power_of_10(unsigned exponent) {
    std::uint64_t out = 1;
    while (exponent-- > 0) {
        out *= 10;
    }
    return out;
}

// A number as it stands in a block of that byte order, and back.
static_assert(std::endian::native == std::endian::little);
constexpr std::uint16_t to_byte_order(std::uint16_t value, bool big_endian) {
    return big_endian ? __builtin_bswap16(value) : value;
}
constexpr std::uint32_t to_byte_order(std::uint32_t value, bool big_endian) {
    return big_endian ? __builtin_bswap32(value) : value;
}
constexpr std::uint64_t to_byte_order(std::uint64_t value, bool big_endian) {
    return big_endian ? __builtin_bswap64(value) : value;
}

template <typename Number>
[[nodiscard]] Number number_at(const std::uint8_t* at, bool big_endian) {
    Number value;
    std::memcpy(&value, at, sizeof(value));
    return to_byte_order(value, big_endian);
}

template <typename Number>
void append_number(std::string& text, Number value, bool big_endian = false) {
    value = to_byte_order(value, big_endian);
    char raw[sizeof(value)];
    std::memcpy(raw, &value, sizeof(value));
    text.append(raw, sizeof(raw));
}

void append_option(std::string& text, std::uint16_t code, std::string_view value,
                   bool big_endian = false);

// A whole block: its body is padded already.
[[nodiscard]] std::string make_block(std::uint32_t type, std::string_view body, bool big_endian);

// The block that a record lies in, and the options in it.
[[nodiscard]] ByteSpan block_of(const Record& record);
[[nodiscard]] ByteSpan options_of(const Record& record);
// The options of a block, which stand behind its fixed part; empty where none are known.
[[nodiscard]] ByteSpan options_of(const Block& block);

// Whether there is one that may not be copied to a file that was changed.
[[nodiscard]] bool has_private(ByteSpan options, bool big_endian);

// Options of a block of that type in the other byte order, without those that may not be copied to
// a file that was changed; behind `first` ones, which are in that order. With an end if there are
// any.
[[nodiscard]] std::string convert_options(ByteSpan options, std::uint32_t type, bool from_big,
                                          bool to_big, std::string_view first = {});

// The body of a block without packets, little-endian: names, secrets, a journal entry. Other types
// and broken ones: empty.
[[nodiscard]] std::string little_endian_body(const Block& block);

// The time in units of an interface, rounded up: it reads back as not less.
[[nodiscard]] std::uint64_t to_interface_ticks(Nanoseconds time,
                                               const InterfaceDescription& interface);

}  // namespace unecho::capture::pcapng
