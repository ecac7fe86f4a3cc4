// SPDX-License-Identifier: BSD-3-Clause
// Blocks, options and times of pcapng (draft-ietf-opsawg-pcapng). Private to captures.
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
inline constexpr std::uint32_t kPrivateBlock = 0x4000'0BAD;  // must not be copied to a changed file

// Follows the type and length of a section header, in the section's byte order.
inline constexpr std::uint32_t kByteOrderMagic = 0x1A2B'3C4D;

// Codes of options: end and comment may be in any block, the others are of an interface block.
inline constexpr std::uint16_t kOptionEnd = 0;
inline constexpr std::uint16_t kOptionComment = 1;
inline constexpr std::uint16_t kOptionName = 2;
inline constexpr std::uint16_t kOptionDrops = 4;  // except this one: of an enhanced packet block
inline constexpr std::uint16_t kOptionResolution = 9;
inline constexpr std::uint16_t kOptionOffset = 14;  // added to times, in seconds

// Return true if Wireshark gives such blocks numbers, as if they were packets.
constexpr bool is_numbered(std::uint32_t type) {
    return type == kJournalBlock || type == kCustomBlock || type == kPrivateBlock;
}

// Type and length precede a block's body, and the length follows it again.
inline constexpr std::size_t kBlockHeader = 8;
inline constexpr std::size_t kBlockFrame = 12;
inline constexpr std::size_t kUpToMagic = 12;    // of a section header, with its byte-order magic
inline constexpr std::size_t kOptionHeader = 4;  // code and length

// Fixed part of a block's body, before the bytes of a packet or the options.
inline constexpr std::size_t kPacketFixed = 20;  // of enhanced and obsolete packets
inline constexpr std::size_t kSimpleFixed = 4;
inline constexpr std::size_t kSectionFixed = 16;
inline constexpr std::size_t kInterfaceFixed = 8;
inline constexpr std::size_t kStatisticsFixed = 12;

__extension__ using int128 = __int128;  // holds times before 1970, too

using ByteSpan = std::span<const std::uint8_t>;

// Pad blocks to four bytes even if their length, against the rules, is no multiple of it.
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

// Convert a number between the host's byte order and a block's.
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

// Return a complete block. body: padded already.
[[nodiscard]] std::string make_block(std::uint32_t type, std::string_view body, bool big_endian);

// Return the block of a record, and the options in it.
[[nodiscard]] ByteSpan block_of(const Record& record);
[[nodiscard]] ByteSpan options_of(const Record& record);
// Return the options of a block, which follow its fixed part; empty for types without known ones.
[[nodiscard]] ByteSpan options_of(const Block& block);

// Return true if one of the options must not be copied to a changed file.
[[nodiscard]] bool has_private(ByteSpan options, bool big_endian);

// Return a block's options in another byte order, after those in `first`, which are in that order
// already. Leave out those that must not be copied to a changed file. Add an end, if there are any.
[[nodiscard]] std::string convert_options(ByteSpan options, std::uint32_t type, bool from_big,
                                          bool to_big, std::string_view first = {});

// Return the little-endian body of a block without packets: names, secrets, a journal entry. Empty
// for other types and malformed blocks.
[[nodiscard]] std::string little_endian_body(const Block& block);

// Return the time in units of an interface, rounded up so that it never reads back as less.
[[nodiscard]] std::uint64_t to_interface_ticks(Nanoseconds time,
                                               const InterfaceDescription& interface);

}  // namespace unecho::capture::pcapng
