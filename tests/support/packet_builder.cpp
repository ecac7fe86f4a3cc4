// SPDX-License-Identifier: BSD-3-Clause
#include "support/packet_builder.h"

#include <algorithm>

namespace unecho::test {
namespace {

constexpr std::uint8_t kIcmp = 1;
constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;
constexpr std::uint8_t kDccp = 33;
constexpr std::uint8_t kIpv6Fragment = 44;
constexpr std::uint8_t kIcmpv6 = 58;
constexpr std::uint8_t kSctp = 132;
constexpr std::uint8_t kUdpLite = 136;
constexpr std::size_t kShortestFrame = 60;

void put(Bytes& out, std::uint64_t value, unsigned bytes) {
    for (unsigned shift = bytes * 8; shift > 0; shift -= 8) {
        out.push_back(static_cast<std::uint8_t>(value >> (shift - 8)));
    }
}

void append(Bytes& out, const Bytes& more) {
    out.insert(out.end(), more.begin(), more.end());
}

void store16(Bytes& out, std::size_t at, std::uint16_t value) {
    out[at] = static_cast<std::uint8_t>(value >> 8);
    out[at + 1] = static_cast<std::uint8_t>(value);
}

void put_address(Bytes& out, const PacketSpec& spec, std::uint32_t address) {
    if (spec.version == 6) {
        put(out, 0x20010DB8'00000000, 8);
        put(out, 0, 4);
    }
    put(out, address, 4);
}

bool is_later_fragment(const PacketSpec& spec) {
    if (spec.version == 4) {
        return spec.fragment_offset != 0;
    }
    return std::any_of(spec.extensions.begin(), spec.extensions.end(), [](const Extension& e) {
        return e.type == kIpv6Fragment && (e.rest[1] != 0 || (e.rest[2] & 0xF8) != 0);
    });
}

// Return the transport header with a checksum of 0. checksum_at: the checksum's offset; 0 for none.
Bytes transport_header(const PacketSpec& spec, std::size_t& checksum_at) {
    Bytes out;
    checksum_at = 0;
    if (spec.protocol == kIcmp || spec.protocol == kIcmpv6) {
        out = {static_cast<std::uint8_t>(spec.protocol == kIcmp ? 8 : 128), 0, 0, 0};
        checksum_at = 2;
    }
    put(out, spec.source_port, 2);
    put(out, spec.destination_port, 2);
    switch (spec.protocol) {
        case kIcmp:
        case kIcmpv6:
            return out;
        case kTcp:  // sequence, acknowledgement, offset 5, PSH and ACK, window
            put(out, 1, 4);
            put(out, 1, 4);
            put(out, 0x5018'FFFF, 4);
            put(out, 0, 4);
            checksum_at = 16;
            return out;
        case kUdp:
            put(out, 8 + spec.payload.size(), 2);
            put(out, 0, 2);
            checksum_at = 6;
            return out;
        case kUdpLite:  // coverage 0: everything
            put(out, 0, 4);
            checksum_at = 6;
            return out;
        case kSctp:  // verification tag, CRC
            put(out, 1, 4);
            put(out, 0, 4);
            checksum_at = 8;
            return out;
        case kDccp:  // offset 4 words, coverage all, type DATA with long sequence numbers
            put(out, 0x0400, 2);
            put(out, 0, 2);
            put(out, 0x05, 1);
            put(out, 0, 1);
            put(out, 1, 6);
            checksum_at = 6;
            return out;
        default:
            return {};
    }
}

std::uint16_t transport_checksum(const PacketSpec& spec, const Bytes& segment) {
    Bytes covered;
    if (spec.protocol != kIcmp) {  // the pseudo-header
        put_address(covered, spec, spec.source);
        put_address(covered, spec, spec.destination);
        put(covered, segment.size(), 4);
        put(covered, spec.protocol, 4);
    }
    append(covered, segment);
    const std::uint16_t sum = internet_checksum(covered);
    const bool zero_means_none = spec.protocol == kUdp || spec.protocol == kUdpLite;
    return sum == 0 && zero_means_none ? 0xFFFF : sum;
}

Bytes build_transport(const PacketSpec& spec) {
    if (is_later_fragment(spec)) {
        return spec.payload;
    }
    std::size_t at = 0;
    Bytes out = transport_header(spec, at);
    append(out, spec.payload);
    if (spec.protocol == kSctp) {
        const std::uint32_t crc = crc32c(out);  // RFC 9260: the lowest byte goes first
        store16(out, at, __builtin_bswap16(static_cast<std::uint16_t>(crc)));
        store16(out, at + 2, __builtin_bswap16(static_cast<std::uint16_t>(crc >> 16)));
    } else if (at != 0) {
        store16(out, at, transport_checksum(spec, out));
    }
    return out;
}

Bytes build_ipv4(const PacketSpec& spec, const Bytes& transport) {
    Bytes options = spec.options;
    options.resize((options.size() + 3) / 4 * 4);
    const std::size_t header = 20 + options.size();
    Bytes out;
    put(out, 0x40 | header / 4, 1);
    put(out, spec.tos, 1);
    put(out, header + transport.size(), 2);
    put(out, spec.id, 2);
    put(out,
        (spec.dont_fragment ? 0x4000U : 0U) | (spec.more_fragments ? 0x2000U : 0U) |
            spec.fragment_offset,
        2);
    put(out, spec.ttl, 1);
    put(out, spec.protocol, 1);
    put(out, 0, 2);
    put_address(out, spec, spec.source);
    put_address(out, spec, spec.destination);
    append(out, options);
    store16(out, 10, internet_checksum(out));
    append(out, transport);
    return out;
}

Bytes build_ipv6(const PacketSpec& spec, const Bytes& transport) {
    Bytes extensions;
    for (std::size_t i = 0; i < spec.extensions.size(); ++i) {
        const bool last = i + 1 == spec.extensions.size();
        extensions.push_back(last ? spec.protocol : spec.extensions[i + 1].type);
        append(extensions, spec.extensions[i].rest);
    }
    Bytes out;
    put(out, 0x60000000U | std::uint32_t{spec.tos} << 20 | spec.flow_label, 4);
    put(out, extensions.size() + transport.size(), 2);
    put(out, spec.extensions.empty() ? spec.protocol : spec.extensions.front().type, 1);
    put(out, spec.ttl, 1);
    put_address(out, spec, spec.source);
    put_address(out, spec, spec.destination);
    append(out, extensions);
    append(out, transport);
    return out;
}

}  // namespace

Bytes build_ip(const PacketSpec& spec) {
    const Bytes transport = build_transport(spec);
    return spec.version == 4 ? build_ipv4(spec, transport) : build_ipv6(spec, transport);
}

std::size_t ip_offset(const PacketSpec& spec) {
    return 14 + 4 * (spec.tags.size() + spec.labels.size());
}

Bytes build_ethernet(std::uint16_t type, const Bytes& body, const PacketSpec& link) {
    Bytes out;
    for (const Mac& mac : {link.destination_mac, link.source_mac}) {
        out.insert(out.end(), mac.begin(), mac.end());
    }
    for (const Tag& tag : link.tags) {
        put(out, tag.type, 2);
        put(out, tag.value, 2);
    }
    put(out, type, 2);
    append(out, body);
    if (link.pad && out.size() < kShortestFrame) {
        out.resize(kShortestFrame);
    }
    append(out, link.trailer);
    return out;
}

Bytes build(const PacketSpec& spec) {
    Bytes body;
    for (std::size_t i = 0; i < spec.labels.size(); ++i) {
        const bool bottom = i + 1 == spec.labels.size();
        put(body, spec.labels[i] << 12 | (bottom ? 0x100U : 0U) | 64U, 4);
    }
    append(body, build_ip(spec));
    const std::uint16_t ip_type = spec.version == 4 ? 0x0800 : 0x86DD;
    return build_ethernet(spec.labels.empty() ? ip_type : 0x8847, body, spec);
}

Extension options_extension(std::uint8_t type, unsigned units) {
    Bytes rest{static_cast<std::uint8_t>(units)};
    rest.resize(7 + std::size_t{units} * 8);
    return {type, rest};
}

Extension fragment_extension(std::uint16_t offset, bool more, std::uint32_t id) {
    Bytes rest{0};
    put(rest, std::uint64_t{offset} << 3 | (more ? 1U : 0U), 2);
    put(rest, id, 4);
    return {kIpv6Fragment, rest};
}

Extension authentication_extension(unsigned check_bytes) {
    const unsigned size = (12 + check_bytes + 3) / 4 * 4;
    Bytes rest{static_cast<std::uint8_t>(size / 4 - 2)};
    rest.resize(size - 1, 0xA5);
    return {51, rest};
}

Bytes counting(std::size_t n, std::uint8_t first) {
    Bytes out(n);
    for (std::size_t i = 0; i < n; ++i) {
        out[i] = static_cast<std::uint8_t>((first + i) % 251);
    }
    return out;
}

std::uint16_t internet_checksum(std::span<const std::uint8_t> data) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
        sum += i % 2 == 0 ? std::uint64_t{data[i]} << 8 : data[i];
    }
    while (sum > 0xFFFF) {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    return static_cast<std::uint16_t>(~sum);
}

std::uint32_t crc32c(std::span<const std::uint8_t> data) {
    std::uint32_t crc = ~0U;
    for (const std::uint8_t byte : data) {
        crc ^= byte;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
        }
    }
    return ~crc;
}

}  // namespace unecho::test
