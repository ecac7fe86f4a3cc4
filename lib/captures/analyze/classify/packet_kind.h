// SPDX-License-Identifier: BSD-3-Clause
// The kind of a packet, as needed to separate copies from repeats: would a host that sends the same
// again send the very same bytes?
#pragma once

#include <cstdint>
#include <string>

#include "packets/keys/non_ip.h"
#include "packets/link.h"
#include "packets/parse.h"

namespace unecho::analyze {

// Groups that a mirror shows in equal shares, but that senders repeat at different rates.
enum class PacketGroup : std::uint8_t { kSegment, kAnswer, kDatagram, kOther };
inline constexpr std::size_t kGroups = 4;

struct PacketKind {
    static constexpr unsigned kProtocolBits = 12;
    static constexpr std::uint16_t kMaxProtocol = (1U << kProtocolBits) - 1;

    std::uint16_t protocol = 0;  // as in Dissected
    std::uint16_t detail = 0;    // a Service; without IP, its number as in NonIpType
    // Without IP: what `detail` is; kNone if it is nothing.
    packet::NonIpNumber what = packet::NonIpNumber::kNone;
    std::uint32_t source = 0;  // hash of the sender's address
    std::uint32_t flow = 0;    // unidentified: hash of addresses and ports, one way
    std::uint16_t id = 0;      // IPv4 ID, but 0 for fragments, which share one
    bool counts = false;       // IPv4 with an ID that a sender may count: neither 0 nor 1
    bool identified = false;   // says which transmission it is (packets/keys/observation.h)
    bool segment = false;
    bool answer = false;  // TCP without data: RSTs and ACKs repeat with what they answer
    bool opaque = false;  // a link type without a parser: only its bytes are known

    [[nodiscard]] PacketGroup group() const noexcept {
        constexpr std::uint16_t kUdp = 17;
        return segment                                      ? PacketGroup::kSegment
               : answer                                     ? PacketGroup::kAnswer
               : protocol == kUdp || protocol == 256 + kUdp ? PacketGroup::kDatagram
                                                            : PacketGroup::kOther;
    }

    // Return a number that is the same for all packets that a report lists together.
    [[nodiscard]] std::uint32_t label() const noexcept {
        return std::uint32_t{detail} << 16 | static_cast<std::uint32_t>(what) << kProtocolBits |
               protocol;
    }
};

// Fill a fresh kind. protocol: of an IP packet. Most identified packets are seen once, so their
// detail, segment and answer are left out until complete() is called.
void read_kind(const packet::IpPacket& ip, std::uint16_t protocol, PacketKind& out) noexcept;
[[nodiscard]] PacketKind complete(const PacketKind& kind, const packet::IpPacket& ip) noexcept;

[[nodiscard]] PacketKind kind_of_frame(packet::LinkType link,
                                       const packet::NonIpFrame& frame) noexcept;
[[nodiscard]] PacketKind kind_of_malformed(packet::LinkType link) noexcept;

// Return a name: "IPv6 UDP (mDNS)", "IPv4 VRRP", "ARP", "EtherType 0x1234".
[[nodiscard]] std::string kind_name(std::uint32_t label);

}  // namespace unecho::analyze
