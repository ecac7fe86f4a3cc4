// SPDX-License-Identifier: BSD-3-Clause
// Why an echo is not its original, byte for byte: from what is kept of the original, 16 bytes.
#pragma once

#include <cstdint>

#include "analyze/report.h"

namespace unecho::analyze {

// Everything of a frame that is not in its packet key. Parts of more than a byte or two as 32-bit
// hashes: two of them are taken for equal wrongly once in 4 billion.
struct Origin {
    std::uint32_t macs = 0;  // MAC addresses, or the cooked header but for what it says is in it
    std::uint32_t tags = 0;  // what else stands before the IP packet; 0: nothing
    // What stands behind the IP packet; 0: nothing. Of 802.11 what air_mark() makes.
    std::uint32_t padding = 0;
    std::uint16_t checksum = 0;  // IPv4 header
    std::uint8_t ttl = 0;        // or hop limit
    std::uint8_t tos = 0;        // or traffic class
};

// Of a frame of 802.11: which number its sender gave it, and whether it says that it was sent
// before. Even and not 0, as no hash above is.
[[nodiscard]] constexpr std::uint32_t air_mark(std::uint16_t sequence, bool retry) noexcept {
    return 0x8000'0000U | std::uint32_t{sequence} << 2U | (retry ? 2U : 0U);
}

// Bit i: Difference i.
using Differences = std::uint8_t;

[[nodiscard]] constexpr bool has(Differences differences, Difference one) noexcept {
    return (differences >> static_cast<unsigned>(one) & 1U) != 0;
}

// kChecksum only where nothing explains it: TTL and TOS are under the checksum.
[[nodiscard]] Differences differences_of(const Origin& original, const Origin& echo) noexcept;

[[nodiscard]] Cause cause_of(Differences differences) noexcept;

}  // namespace unecho::analyze
