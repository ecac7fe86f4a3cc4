// SPDX-License-Identifier: BSD-3-Clause
// Numbers that reader, recovery and writer of pcap share (draft-ietf-opsawg-pcap), and the order of
// a record's two lengths. Private to captures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace unecho::capture::pcap {

// The first four bytes, in the file's byte order.
inline constexpr std::uint32_t kMicrosecondMagic = 0xA1B2'C3D4;
inline constexpr std::uint32_t kNanosecondMagic = 0xA1B2'3C4D;
inline constexpr std::uint32_t kModifiedMagic = 0xA1B2'CD34;  // Alexey Kuznetzov's modified kind

inline constexpr std::size_t kFileHeader = 24;
inline constexpr std::size_t kRecordHeader = 16;
inline constexpr std::size_t kModifiedRecordHeader = 24;

// libpcap's MAXIMUM_SNAPLEN: other programs read no longer records, whatever a file states.
inline constexpr std::uint32_t kMaxSnapLength = 262144;

// The order of a record's lengths. It changed with version 2.3, whose files may have either; their
// smaller length is the captured one. DG/UX wrote the older order as version 543.0.
enum class LengthOrder : std::uint8_t { kCapturedFirst, kWireFirst, kSmallerFirst };

// Absent: an unknown version.
[[nodiscard]] constexpr std::optional<LengthOrder> lengths_of(std::uint16_t major,
                                                              std::uint16_t minor) noexcept {
    constexpr std::uint16_t kDgUx = 543;
    constexpr std::uint16_t kEither = 3;
    constexpr std::uint16_t kLast = 4;
    if (major == kDgUx && minor == 0) {
        return LengthOrder::kWireFirst;
    }
    if (major != 2 || minor > kLast) {
        return std::nullopt;
    }
    return minor == kLast     ? LengthOrder::kCapturedFirst
           : minor == kEither ? LengthOrder::kSmallerFirst
                              : LengthOrder::kWireFirst;
}

struct RecordLengths {
    std::uint32_t captured;
    std::uint32_t wire;
};

[[nodiscard]] constexpr RecordLengths order_lengths(LengthOrder order, std::uint32_t first,
                                                    std::uint32_t second) noexcept {
    if (order != LengthOrder::kCapturedFirst) [[unlikely]] {
        const bool turned = order == LengthOrder::kWireFirst || first > second;
        return turned ? RecordLengths{second, first} : RecordLengths{first, second};
    }
    return {first, second};
}

}  // namespace unecho::capture::pcap
