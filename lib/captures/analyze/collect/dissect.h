// SPDX-License-Identifier: BSD-3-Clause
// A frame taken apart as far as the report needs it.
#pragma once

#include <cstdint>
#include <string>

#include "captures/analyze/classify/echo_cause.h"
#include "captures/analyze/classify/packet_kind.h"
#include "captures/analyze/tally/talkers.h"
#include "filters/hash/secret.h"
#include "packets/frame.h"
#include "packets/link.h"
#include "packets/parse.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::analyze {

// Index of a packet's protocol: IP protocol number, that of IPv6 behind the extension headers, plus
// 256 for IPv6; and two for what has none.
inline constexpr std::uint16_t kNotIp = 512;
inline constexpr std::uint16_t kMalformed = 513;
inline constexpr std::size_t kProtocols = 514;

struct Dissected {
    FrameTraits origin;
    packet::IpPacket ip{};               // of IPv4 and IPv6
    packet::Frame payload{};             // of a TCP segment, as far as captured; else empty
    const std::uint8_t* macs = nullptr;  // two addresses, where an Ethernet header has them
    bool cut = false;                    // captured shorter than its IP length says
    std::uint32_t payload_size = 0;      // on the wire
    std::uint32_t sequence = 0;          // of the TCP segment
    std::uint16_t protocol = kNotIp;
    // Whose packets these are by the link (packets/keys/observation.h, pair), the same whatever the
    // secret.
    std::uint64_t population = 0;
    PacketKind kind;
};

// parsed: what stage parse found in the frame.
[[nodiscard]] Dissected dissect(packet::LinkType link, const packet::Frame& frame,
                                const packet::Parsed& parsed, const hash::Secret& secret) noexcept;

// The same of a packet inside tunnels: the frame, MAC addresses and padding are those inside.
[[nodiscard]] Dissected dissect_inside(const packet::DecapsulatedLevel& level,
                                       const hash::Secret& secret) noexcept;

// Of a packet with protocol below kNotIp.
[[nodiscard]] AddressPair addresses_of(const Dissected& packet) noexcept;

[[nodiscard]] std::string protocol_name(std::uint16_t protocol);

}  // namespace unecho::analyze
