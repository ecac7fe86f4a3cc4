// SPDX-License-Identifier: BSD-3-Clause
// Dissection of a frame into what the report needs.
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

// Index of a packet's protocol: the IP protocol number (for IPv6, behind extension headers), plus
// 256 for IPv6. Two more stand for packets without IP.
inline constexpr std::uint16_t kNotIp = 512;
inline constexpr std::uint16_t kMalformed = 513;
inline constexpr std::size_t kProtocols = 514;

struct Dissected {
    FrameTraits origin;
    packet::IpPacket ip{};               // IPv4 and IPv6 only
    packet::Frame payload{};             // captured part of a TCP segment's payload; else empty
    const std::uint8_t* macs = nullptr;  // two addresses, if there is an Ethernet header
    bool cut = false;                    // captured shorter than its IP length
    std::uint32_t payload_size = 0;      // on the wire
    std::uint32_t sequence = 0;          // of a TCP segment
    std::uint16_t protocol = kNotIp;
    // Hash of the link's two ends (packets/keys/observation.h, pair), independent of the secret.
    std::uint64_t population = 0;
    PacketKind kind;
};

[[nodiscard]] Dissected dissect(packet::LinkType link, const packet::Frame& frame,
                                const packet::Parsed& parsed, const hash::Secret& secret) noexcept;

// Dissect a packet inside tunnels: frame, MAC addresses and padding are the inner ones.
[[nodiscard]] Dissected dissect_inside(const packet::DecapsulatedLevel& level,
                                       const hash::Secret& secret) noexcept;

// packet: its protocol is below kNotIp.
[[nodiscard]] AddressPair addresses_of(const Dissected& packet) noexcept;

[[nodiscard]] std::string protocol_name(std::uint16_t protocol);

}  // namespace unecho::analyze
