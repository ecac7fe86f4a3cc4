// SPDX-License-Identifier: BSD-3-Clause
#include "packets/link.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "digest_frame.h"
#include "packets/parse.h"
#include "packets/wifi.h"
#include "support/link_frames.h"
#include "support/source_root.h"

namespace unecho::packet {
namespace {

using test::build_ip;
using test::Bytes;
using test::kIpLinks;
using test::link_headers;
using test::operator+;

struct Position {
    L3Type found;
    std::size_t offset;  // offset of the IP packet in the frame
    std::uint32_t length;
    bool operator==(const Position&) const = default;
};

constexpr Position kNonIp{L3Type::kNonIp, 0, 0};
constexpr Position kMalformed{L3Type::kMalformed, 0, 0};

Position parse(LinkType link, std::span<const std::uint8_t> bytes) {
    const ExactFrame exact(bytes);
    const Frame frame = exact.frame();
    const auto [found, ip] = parse_frame(link, frame);
    if (found != L3Type::kIpv4 && found != L3Type::kIpv6) {
        return {found, 0, 0};
    }
    return {found, static_cast<std::size_t>(ip.data - frame.data), ip.length};
}

L3Type found_of(unsigned version) {
    return version == 4 ? L3Type::kIpv4 : L3Type::kIpv6;
}

// Set the last two bytes before IP, or those at `at`, to the number.
Bytes with_number(Bytes frame, std::size_t at, unsigned number) {
    frame[at] = static_cast<std::uint8_t>(number >> 8);
    frame[at + 1] = static_cast<std::uint8_t>(number);
    return frame;
}

// ---- numbers and names ----

TEST(LinkOf, numbers_that_are_known_are_these) {
    const std::map<unsigned, LinkType> known{
        {0, LinkType::kNull},       {1, LinkType::kEthernet},     {9, LinkType::kPpp},
        {12, LinkType::kRaw},       {14, LinkType::kRaw},         {101, LinkType::kRaw},
        {108, LinkType::kLoop},     {113, LinkType::kSll},        {228, LinkType::kIpv4},
        {229, LinkType::kIpv6},     {276, LinkType::kSll2},       {105, LinkType::kWifi},
        {127, LinkType::kRadiotap}, {192, LinkType::kPpi},        {163, LinkType::kAvs},
        {104, LinkType::kHdlc},     {107, LinkType::kFrameRelay}, {50, LinkType::kPpp},
        {239, LinkType::kNflog},    {51, LinkType::kPppEther}};
    for (unsigned number = 0; number < 0x10000; ++number) {
        const auto it = known.find(number);
        ASSERT_EQ(link_type_of(static_cast<std::uint16_t>(number)),
                  it == known.end() ? LinkType::kUnknown : it->second)
            << number;
    }
}

TEST(LinkName, every_link_type_has_its_own) {
    std::set<std::string_view> names;
    for (unsigned i = 0; i < kLinks; ++i) {
        names.insert(name_of(static_cast<LinkType>(i)));
    }
    EXPECT_EQ(names.size(), kLinks);
    EXPECT_FALSE(names.contains(""));
    EXPECT_EQ(name_of(LinkType::kEthernet), "Ethernet");
    EXPECT_EQ(name_of(LinkType::kUnknown), "unknown");
}

TEST(LinkTable, each_row_is_of_its_link_type) {
    const std::set<LinkType> radio{LinkType::kWifi, LinkType::kRadiotap, LinkType::kPpi,
                                   LinkType::kAvs};
    for (unsigned i = 0; i < kLinks; ++i) {
        const auto link = static_cast<LinkType>(i);
        const LinkInfo& row = info_of(link);
        EXPECT_EQ(row.link, link);
        EXPECT_EQ(is_wifi(link), radio.contains(link)) << row.name;
        EXPECT_EQ(row.non_ip_number == NonIpNumber::kWifiType, radio.contains(link)) << row.name;
        EXPECT_LE(row.header.begin, row.header.end) << row.name;
        for (const std::int32_t number : row.numbers) {
            if (number != LinkInfo::kNoNumber) {
                EXPECT_EQ(link_type_of(static_cast<std::uint16_t>(number)), link) << row.name;
            }
        }
    }
}

// Return the first column of the table in docs/captures.md.
std::set<int> documented_numbers() {
    std::ifstream file(test::source_root() + "/docs/captures.md");
    std::set<int> out;
    std::string line;
    while (std::getline(file, line) && !line.starts_with("| LINKTYPE |")) {
    }
    std::getline(file, line);
    while (std::getline(file, line) && line.starts_with("| ")) {
        std::istringstream cell(line.substr(2, line.find('|', 2) - 2));
        for (std::string number; std::getline(cell, number, ',');) {
            out.insert(std::stoi(number));
        }
    }
    return out;
}

TEST(LinkTable, documentation_has_the_numbers_of_all_rows) {
    std::set<int> numbers;
    for (unsigned i = 0; i < kLinks; ++i) {
        const LinkInfo& row = info_of(static_cast<LinkType>(i));
        std::copy_if(row.numbers.begin(), row.numbers.end(), std::inserter(numbers, numbers.end()),
                     [](std::int32_t number) { return number != LinkInfo::kNoNumber; });
    }
    EXPECT_EQ(numbers, documented_numbers());
}

// ---- position of the IP packet ----

TEST(FindIpInLink, every_cut_of_every_header_is_as_defined) {
    for (const LinkType link : kIpLinks) {
        for (const unsigned version : {4U, 6U}) {
            const Bytes ip = build_ip({.version = version, .payload = test::counting(9)});
            for (const Bytes& header : link_headers(link, version)) {
                const Bytes frame = header + ip;
                const std::size_t needed = header.size() + (version == 4 ? 20 : 40);
                for (std::size_t n = 0; n <= frame.size(); ++n) {
                    const auto left = static_cast<std::uint32_t>(n - header.size());
                    const Position whole{found_of(version), header.size(), left};
                    ASSERT_EQ(parse(link, {frame.data(), n}), n < needed ? kMalformed : whole)
                        << name_of(link) << " version " << version << " cut to " << n;
                }
            }
        }
    }
}

TEST(FindIpInLink, what_follows_the_ip_packet_does_not_count) {
    for (const LinkType link : kIpLinks) {
        for (const unsigned version : {4U, 6U}) {
            const Bytes ip = build_ip({.version = version, .payload = test::counting(9)});
            for (const Bytes& header : link_headers(link, version)) {
                const Position expected{found_of(version), header.size(),
                                                static_cast<std::uint32_t>(ip.size())};
                EXPECT_EQ(parse(link, header + ip + Bytes(30, 0xAA)), expected) << name_of(link);
            }
        }
    }
}

// A field that follows in NFLOG is no part of the packet.
TEST(FindIpInLink, nflog_payload_ends_where_its_field_does) {
    const Bytes ip = build_ip({.payload = test::counting(60)});
    const Bytes prefix{2, 0, 0, 7};
    for (std::uint8_t kept = 20; kept < ip.size(); ++kept) {
        const auto size = static_cast<std::uint8_t>(kept + 4);
        const Position expected{L3Type::kIpv4, 8, kept};
        EXPECT_EQ(parse(LinkType::kNflog, prefix + Bytes{size, 0, 9, 0} + ip), expected);
    }
}

TEST(FindIpInLink, version_of_raw_packets_decides) {
    Bytes ip = build_ip({.payload = test::counting(60)});
    ip[2] = ip[3] = 0;
    for (unsigned nibble = 0; nibble < 16; ++nibble) {
        ip[0] = static_cast<std::uint8_t>(nibble << 4 | 5);
        const auto length = static_cast<std::uint32_t>(ip.size());
        const Position v4 =
            nibble == 4 ? Position{L3Type::kIpv4, 0, length} : kMalformed;
        const Position v6 =
            nibble == 6 ? Position{L3Type::kIpv6, 0, parse(LinkType::kIpv6, ip).length}
                        : kMalformed;
        EXPECT_EQ(parse(LinkType::kIpv4, ip), v4) << nibble;
        EXPECT_EQ(parse(LinkType::kIpv6, ip), v6) << nibble;
        EXPECT_EQ(parse(LinkType::kRaw, ip), nibble == 4 ? v4 : v6) << nibble;
    }
}

TEST(FindIpInLink, every_other_ethertype_is_not_ip) {
    const std::set<unsigned> known{0x0800, 0x86DD, 0x8100, 0x88A8, 0x9100,
                                   0x9200, 0x8847, 0x8848, 0x8864};
    for (const auto& [link, at] :
         std::map<LinkType, std::size_t>{{LinkType::kSll, 14}, {LinkType::kSll2, 0}}) {
        const Bytes frame = link_headers(link, 4).front() + build_ip({});
        for (unsigned type = 0; type < 0x10000; ++type) {
            if (!known.contains(type)) {
                ASSERT_EQ(parse(link, with_number(frame, at, type)), kNonIp) << std::hex << type;
            }
        }
    }
}

TEST(FindIpInLink, every_other_ppp_protocol_is_not_ip) {
    const Bytes plain = link_headers(LinkType::kPpp, 4)[0] + build_ip({});
    const Bytes framed = link_headers(LinkType::kPpp, 4)[1] + build_ip({});
    for (unsigned protocol = 0; protocol < 0x10000; ++protocol) {
        if (protocol == 0x21 || protocol == 0x57) {
            continue;
        }
        ASSERT_EQ(parse(LinkType::kPpp, with_number(framed, 2, protocol)), kNonIp) << protocol;
        if (protocol != 0xFF03) {  // address and control follow
            ASSERT_EQ(parse(LinkType::kPpp, with_number(plain, 0, protocol)), kNonIp) << protocol;
        }
    }
}

// Discovery has another EtherType; a session carries no address and control.
TEST(FindIpInLink, other_protocols_of_a_pppoe_session_are_not_ip) {
    const Bytes macs(12);
    const Bytes header{0x11, 0, 0, 9, 0, 60};
    const Bytes session = macs + Bytes{0x88, 0x64} + header;
    for (unsigned protocol = 0; protocol < 0x10000; ++protocol) {
        if (protocol != 0x21 && protocol != 0x57) {
            const Bytes frame = with_number(session + Bytes(2) + build_ip({}), 20, protocol);
            ASSERT_EQ(parse(LinkType::kEthernet, frame), kNonIp) << protocol;
            const Bytes bare = with_number(header + Bytes(2) + build_ip({}), 6, protocol);
            ASSERT_EQ(parse(LinkType::kPppEther, bare), kNonIp) << protocol;
        }
    }
    const Bytes framed = Bytes{0xFF, 0x03, 0, 0x21} + build_ip({});
    EXPECT_EQ(parse(LinkType::kEthernet, session + framed), kNonIp);
    EXPECT_EQ(parse(LinkType::kPppEther, header + framed), kNonIp);
    const Bytes discovery = macs + Bytes{0x88, 0x63, 0x11, 0, 0, 9, 0, 60, 0, 0x21};
    EXPECT_EQ(parse(LinkType::kEthernet, discovery + build_ip({})), kNonIp);
}

TEST(FindIpInLink, every_other_address_family_is_not_ip) {
    const Bytes ip = build_ip({});
    for (unsigned family = 0; family < 256; ++family) {
        if (family == 2 || family == 10 || family == 24 || family == 28 || family == 30) {
            continue;
        }
        const auto byte = static_cast<std::uint8_t>(family);
        EXPECT_EQ(parse(LinkType::kNull, Bytes{0, 0, 0, byte} + ip), kNonIp) << family;
        EXPECT_EQ(parse(LinkType::kNull, Bytes{byte, 0, 0, 0} + ip), kNonIp) << family;
        EXPECT_EQ(parse(LinkType::kLoop, Bytes{0, 0, 0, byte} + ip), kNonIp) << family;
    }
    EXPECT_EQ(parse(LinkType::kLoop, Bytes{2, 0, 0, 0} + ip), kNonIp);  // one byte order only
}

TEST(ReadDscpInLink, is_that_of_the_ip_packet) {
    for (const LinkType link : kIpLinks) {
        for (const unsigned version : {4U, 6U}) {
            for (const Bytes& header : link_headers(link, version)) {
                const ExactFrame exact(header + build_ip({.version = version, .tos = 46 << 2}));
                EXPECT_EQ(dscp_of(parse_frame(link, exact.frame())), 46U);
            }
        }
    }
}

// ---- keys ----

TEST(DigestInLink, packet_has_one_digest_and_owner_behind_every_header) {
    for (const KeyMode mode : {KeyMode::kPacket, KeyMode::kFlow, KeyMode::kFlowBidir}) {
        for (const unsigned version : {4U, 6U}) {
            const Bytes ip = build_ip({.version = version, .payload = test::counting(70)});
            const Bytes ethernet = link_headers(LinkType::kEthernet, version).front() + ip;
            for (const LinkType link : kIpLinks) {
                for (const Bytes& header : link_headers(link, version)) {
                    EXPECT_EQ(digest_of(mode, header + ip, link), digest_of(mode, ethernet))
                        << name_of(link) << " " << name_of(mode);
                    EXPECT_EQ(owner_of(header + ip, link), owner_of(ethernet)) << name_of(link);
                }
            }
        }
    }
}

TEST(DigestInLink, unknown_has_frame_keys_only) {
    const Bytes frame = test::build({});
    for (const KeyMode mode : kModes) {
        EXPECT_EQ(digest_of(mode, frame, LinkType::kUnknown).outcome,
                  mode == KeyMode::kFrame ? KeyOutcome::kKeyed : KeyOutcome::kNonIp);
    }
    EXPECT_EQ(digest_of(KeyMode::kFrame, frame, LinkType::kUnknown),
              digest_of(KeyMode::kFrame, frame, LinkType::kEthernet));
    for (std::size_t at = 0; at < frame.size(); ++at) {
        Bytes changed = frame;
        changed[at] ^= 1;
        EXPECT_EQ(owner_of(changed, LinkType::kUnknown), owner_of(frame, LinkType::kUnknown));
        EXPECT_NE(non_ip_digest_of(changed, LinkType::kUnknown),
                  non_ip_digest_of(frame, LinkType::kUnknown));
    }
}

}  // namespace
}  // namespace unecho::packet
