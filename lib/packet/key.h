// SPDX-License-Identifier: BSD-3-Clause
// What "the same packet" means. digests.h makes digests of it.
//
// Key modes (docs/glossary.md has the exact definition):
//   packet      the outermost IP packet; TOS/traffic class, TTL/hop limit and the IPv4 header
//               checksum masked; what stands before it and behind its IP length left out
//   flow        source, destination, protocol, ports of the outermost IP packet
//   flow-bidir  the same with the two ends in sorted order
//   frame       every captured byte
// Frames without an IP packet have a key of their own where that is asked for (NonIp): MAC
// addresses, innermost EtherType, and what is behind it up to the length of 802.3 or padding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace unecho::packet {

enum class KeyMode : std::uint8_t { kPacket, kFlow, kFlowBidir, kFrame };
inline constexpr std::array<std::string_view, 4> kKeyNames{"packet", "flow", "flow-bidir", "frame"};
inline constexpr unsigned kKeyModes = kKeyNames.size();

[[nodiscard]] constexpr std::string_view name_of(KeyMode mode) noexcept {
    return kKeyNames[static_cast<std::size_t>(mode)];
}

// Packets of a flow have the same key.
[[nodiscard]] constexpr bool is_flow(KeyMode mode) noexcept {
    return mode == KeyMode::kFlow || mode == KeyMode::kFlowBidir;
}

// What becomes of frames without an IP packet beside keys of IP packets.
enum class NonIp : std::uint8_t {
    kPass,   // they have no key
    kFrame,  // they are compared, without their tags, labels and padding
};

}  // namespace unecho::packet
