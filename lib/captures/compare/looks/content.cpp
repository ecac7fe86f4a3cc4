// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/looks/content.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "packets/headers.h"
#include "packets/keys/digests.h"
#include "packets/keys/observation.h"

namespace unecho::compare {
namespace {

constexpr std::uint8_t kIcmp = 1;

// Bytes of a transport header that a NAT may change.
struct Changed {
    std::uint32_t begin;
    std::uint32_t end;
};
struct Transport {
    std::uint32_t header;  // shortest
    Changed ports;         // or identifiers
    Changed checksum;
};

const Transport* transport_of(std::uint8_t protocol) {
    static constexpr Transport kTcp{20, {0, 4}, {16, 18}};
    static constexpr Transport kUdp{8, {0, 4}, {6, 8}};
    static constexpr Transport kEcho{8, {4, 6}, {2, 4}};
    switch (protocol) {
        case packet::kProtoTcp:
            return &kTcp;
        case packet::kProtoUdp:
            return &kUdp;
        case kIcmp:
        case packet::kProtoIcmpv6:
            return &kEcho;
        default:
            return nullptr;
    }
}

}  // namespace

Digest content_digest(const packet::Parsed& parsed, const hash::Secret& secret) {
    const bool v4 = parsed.found == packet::L3Type::kIpv4;
    if (!v4 && parsed.found != packet::L3Type::kIpv6) {
        return 0;
    }
    const packet::IpPacket& ip = parsed.ip;
    const packet::Upper upper = v4 ? packet::upper_of_ipv4(ip) : packet::upper_of_ipv6(ip);
    const Transport* const transport = transport_of(upper.protocol);
    if (!upper.whole || upper.fragment || transport == nullptr ||
        upper.offset + transport->header > ip.length) {
        return 0;
    }
    const std::uint32_t identification =
        v4 && packet::is_identified_ipv4(ip) ? packet::load_be16(ip.data + 4) : 0;
    const std::uint32_t length = ip.length - static_cast<std::uint32_t>(upper.offset);
    if (identification == 0 && length == transport->header) {
        return 0;
    }
    thread_local std::vector<std::uint8_t> content;
    content.assign(8, 0);
    content[0] = upper.protocol;
    std::memcpy(content.data() + 4, &identification, sizeof identification);
    content.insert(content.end(), ip.data + upper.offset, ip.data + ip.length);
    for (const Changed& part : {transport->ports, transport->checksum}) {
        std::fill(content.begin() + 8 + part.begin, content.begin() + 8 + part.end,
                  std::uint8_t{0});
    }
    const packet::Frame frame{content.data(), static_cast<std::uint32_t>(content.size())};
    Digest digest = 0;
    packet::digest_frames({&frame, 1}, secret, &digest);
    return digest == 0 ? 1 : digest;
}

}  // namespace unecho::compare
