// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/looks/flow.h"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/core.h>

#include "base/humanize.h"
#include "packets/headers.h"

namespace unecho::compare {
namespace {

std::string protocol_text(std::uint8_t protocol) {
    switch (protocol) {
        case 1:
            return "ICMP";
        case packet::kProtoTcp:
            return "TCP";
        case packet::kProtoUdp:
            return "UDP";
        case packet::kProtoIcmpv6:
            return "ICMPv6";
        case packet::kProtoSctp:
            return "SCTP";
        case packet::kProtoEsp:
            return "ESP";
        default:
            return "protocol " + std::to_string(protocol);
    }
}

std::string end_text(const Address& address, std::uint16_t port, bool ports) {
    const std::string text = text_of(address);
    return !ports                                     ? text
           : address.family == Address::Family::kIpv6 ? "[" + text + "]:" + std::to_string(port)
                                                      : text + ":" + std::to_string(port);
}

Address address_of(Address::Family family, const std::uint8_t* bytes) {
    Address out{.family = family};
    std::memcpy(out.bytes.data(), bytes,
                family == Address::Family::kIpv6   ? 16
                : family == Address::Family::kIpv4 ? 4
                                                   : 6);
    return out;
}

}  // namespace

std::string text_of(const Address& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    switch (address.family) {
        case Address::Family::kIpv4:
            return inet_ntop(AF_INET, address.bytes.data(), text.data(), text.size());
        case Address::Family::kIpv6:
            return inet_ntop(AF_INET6, address.bytes.data(), text.data(), text.size());
        case Address::Family::kMac:
            return format_number("%02x:%02x:%02x:%02x:%02x:%02x", address.bytes[0],
                                 address.bytes[1], address.bytes[2], address.bytes[3],
                                 address.bytes[4], address.bytes[5]);
        case Address::Family::kNone:
            break;
    }
    return "?";
}

std::string text_of(const Flow& flow) {
    const bool ports = packet::has_ports(flow.protocol);
    const std::string ends = fmt::format("{} > {}", end_text(flow.source, flow.source_port, ports),
                                         end_text(flow.destination, flow.destination_port, ports));
    return flow.source.family == Address::Family::kMac
               ? ends
               : fmt::format("{} {}", ends, protocol_text(flow.protocol));
}

Flow flow_of(const packet::Parsed& parsed) {
    const bool v4 = parsed.found == packet::L3Type::kIpv4;
    packet::FlowFields fields{};
    const bool whole =
        v4 ? packet::read_flow_ipv4(parsed.ip, fields) : packet::read_flow_ipv6(parsed.ip, fields);
    const Address::Family family = v4 ? Address::Family::kIpv4 : Address::Family::kIpv6;
    return {.source = address_of(family, fields.addresses),
            .destination = address_of(family, fields.addresses + (v4 ? 4 : 16)),
            .source_port = whole ? fields.source_port : std::uint16_t{0},
            .destination_port = whole ? fields.destination_port : std::uint16_t{0},
            .protocol = fields.protocol};
}

Flow flow_of_stations(const packet::Frame& frame) {
    return {.source = address_of(Address::Family::kMac, frame.data + 6),
            .destination = address_of(Address::Family::kMac, frame.data)};
}

FlowTable::Slot& FlowTable::slot_of(Digest digest) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = digest & mask;
    while (slots_[at].flow != kNone && slots_[at].digest != digest) {
        at = (at + 1) & mask;
    }
    return slots_[at];
}

void FlowTable::grow() {
    constexpr std::size_t kFirst = 1024;
    slots_.assign(std::max(kFirst, slots_.size() * 2), {});
    for (std::uint32_t i = 0; i < digests_.size(); ++i) {
        slot_of(digests_[i]) = {digests_[i], i};
    }
}

}  // namespace unecho::compare
