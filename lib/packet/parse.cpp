// SPDX-License-Identifier: BSD-3-Clause
#include "packet/parse.h"

namespace unecho::packet {
namespace {

// Headers whose second byte counts 8-byte units beyond the first 8.
constexpr bool is_plain_extension(std::uint8_t next) noexcept {
    return next == kProtoHopByHop || next == kProtoRouting || next == kProtoDestination ||
           next == kProtoMobility || next == kProtoHip || next == kProtoShim6;
}

constexpr bool is_extension(std::uint8_t next) noexcept {
    return is_plain_extension(next) || next == kProtoFragment || next == kProtoAh;
}

// RFC 8200 section 4, RFC 4302 section 2.2 (AH counts 4-byte units less 2).
std::uint64_t extension_size(std::uint8_t type, std::uint8_t length_field) noexcept {
    if (type == kProtoFragment) {
        return 8;
    }
    return type == kProtoAh ? (length_field + std::uint64_t{2}) * 4
                            : (length_field + std::uint64_t{1}) * 8;
}

}  // namespace

bool walk_extensions(const IpPacket& ip, FlowFields& flow) noexcept {
    std::uint64_t at = kIpv6Header;  // 64 bits: a header may claim to end beyond any frame
    bool later_fragment = false;
    while (!later_fragment && is_extension(flow.protocol)) {
        if (ip.length < at + 8) {
            return false;
        }
        const std::uint8_t* header = ip.data + at;
        later_fragment = flow.protocol == kProtoFragment && (load_be16(header + 2) & 0xFFF8) != 0;
        at += extension_size(flow.protocol, header[1]);
        flow.protocol = header[0];
    }
    if (ip.length < at) {
        return false;
    }
    if (later_fragment || !has_ports(flow.protocol)) {
        return true;
    }
    return read_ports(ip, at, flow);
}

}  // namespace unecho::packet
