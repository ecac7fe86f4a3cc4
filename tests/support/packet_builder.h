// SPDX-License-Identifier: BSD-3-Clause
// Frames for tests: Ethernet, tags, labels, IPv4 or IPv6 and a transport header, with lengths and
// checksums filled in. To build a copy "as another tap saw it", change a copy of the spec:
//     PacketSpec copy = spec;
//     copy.ttl -= 1;
//     copy.tags = {{0x8100, 7}};
// For a malformed frame, build one and change its bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace unecho::test {

using Bytes = std::vector<std::uint8_t>;
using Mac = std::array<std::uint8_t, 6>;

struct Tag {
    std::uint16_t type;   // 0x8100, 0x88a8, 0x9100, 0x9200
    std::uint16_t value;  // priority and VLAN number
};

struct Extension {
    std::uint8_t type;
    Bytes rest;  // the header without its first byte, which names the next header
};

struct PacketSpec {
    Mac destination_mac{0x02, 0, 0, 0, 0, 0x02};
    Mac source_mac{0x02, 0, 0, 0, 0, 0x01};
    std::vector<Tag> tags{};
    std::vector<std::uint32_t> labels{};  // MPLS, outermost first

    unsigned version = 4;
    std::uint32_t source = 0x0A000001;  // IPv6: the last 32 bits of 2001:db8::
    std::uint32_t destination = 0x0A000002;
    std::uint8_t tos = 0;   // traffic class
    std::uint8_t ttl = 64;  // hop limit

    std::uint16_t id = 2;  // IPv4 only, like the next four members; above 1: identified
    bool dont_fragment = false;
    bool more_fragments = false;
    std::uint16_t fragment_offset = 0;  // in units of 8 bytes
    Bytes options{};                    // padded to a multiple of 4

    std::uint32_t flow_label = 0;  // IPv6 only
    std::vector<Extension> extensions{};

    // TCP, UDP, UDP-Lite, SCTP and DCCP get headers with ports. ICMP and ICMPv6 get an echo request
    // whose identifier and sequence number are the ports. Other protocols, and fragments other than
    // the first, have only the payload. The checksum of a first fragment covers that fragment only.
    std::uint8_t protocol = 17;
    std::uint16_t source_port = 1000;
    std::uint16_t destination_port = 2000;
    Bytes payload{};

    bool pad = false;  // with zeros, to the 60 bytes of the shortest Ethernet frame
    Bytes trailer{};   // after everything else
};

Bytes build(const PacketSpec& spec);

// Return the packet from its IP header to the end of its payload.
Bytes build_ip(const PacketSpec& spec);

// Return the offset of the IP header in build(spec).
std::size_t ip_offset(const PacketSpec& spec);

// Return a frame of any EtherType. Only the MACs, tags, pad and trailer of `link` are used.
Bytes build_ethernet(std::uint16_t type, const Bytes& body, const PacketSpec& link = {});

// Extension headers for PacketSpec::extensions.
Extension options_extension(std::uint8_t type, unsigned units = 0);  // 8 * (units + 1) bytes
Extension fragment_extension(std::uint16_t offset, bool more, std::uint32_t id = 1);
Extension authentication_extension(unsigned check_bytes = 12);

// Return n bytes 1, 2, 3, ... modulo 251, so that no two neighbouring powers of two are equal.
Bytes counting(std::size_t n, std::uint8_t first = 1);

// Return the checksum of RFC 1071; it is 0 over data that contains its own correct checksum.
std::uint16_t internet_checksum(std::span<const std::uint8_t> data);

// Return the CRC32c of RFC 9260, appendix A.
std::uint32_t crc32c(std::span<const std::uint8_t> data);

}  // namespace unecho::test
