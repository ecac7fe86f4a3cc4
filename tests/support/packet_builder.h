// SPDX-License-Identifier: BSD-3-Clause
// Frames for tests: Ethernet, tags, labels, IPv4 or IPv6 and a transport header, with lengths and
// checksums filled in. A copy "as another tap saw it" is a changed copy of the spec:
//     PacketSpec copy = spec;
//     copy.ttl -= 1;
//     copy.tags = {{0x8100, 7}};
// Malformed frames: build one, then change its bytes.
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
    Bytes rest;  // all of the header but its first byte, which names the next header
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

    std::uint16_t id = 2;  // IPv4 only, as are the next four; above 1: identified
    bool dont_fragment = false;
    bool more_fragments = false;
    std::uint16_t fragment_offset = 0;  // in units of 8 bytes
    Bytes options{};                    // padded to a multiple of 4

    std::uint32_t flow_label = 0;  // IPv6 only
    std::vector<Extension> extensions{};

    // TCP, UDP, UDP-Lite, SCTP and DCCP have headers with ports; ICMP and ICMPv6 an echo request
    // whose identifier and sequence are the ports; other protocols, and fragments other than the
    // first, only the payload. Checksums of a first fragment cover that fragment only.
    std::uint8_t protocol = 17;
    std::uint16_t source_port = 1000;
    std::uint16_t destination_port = 2000;
    Bytes payload{};

    bool pad = false;  // with zeros to the 60 bytes of a shortest Ethernet frame
    Bytes trailer{};   // behind everything
};

Bytes build(const PacketSpec& spec);

// From its IP header to the end of its payload.
Bytes build_ip(const PacketSpec& spec);

// Where the IP header begins in build(spec).
std::size_t ip_offset(const PacketSpec& spec);

// A frame of any EtherType; of link, only MACs, tags, pad and trailer count.
Bytes build_ethernet(std::uint16_t type, const Bytes& body, const PacketSpec& link = {});

// Extension headers for PacketSpec::extensions.
Extension options_extension(std::uint8_t type, unsigned units = 0);  // 8 * (units + 1) bytes
Extension fragment_extension(std::uint16_t offset, bool more, std::uint32_t id = 1);
Extension authentication_extension(unsigned check_bytes = 12);

// n bytes 1, 2, 3, ... (mod 251, so that no two neighbouring powers of two look alike).
Bytes counting(std::size_t n, std::uint8_t first = 1);

// RFC 1071: 0 over data that carries its own right checksum.
std::uint16_t internet_checksum(std::span<const std::uint8_t> data);

// RFC 9260 appendix A.
std::uint32_t crc32c(std::span<const std::uint8_t> data);

}  // namespace unecho::test
