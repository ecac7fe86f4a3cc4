// SPDX-License-Identifier: BSD-3-Clause
#include "packets/parse.h"

#include <set>

#include <gtest/gtest.h>

#include "digest_frame.h"
#include "packets/tags.h"
#include "support/packet_builder.h"

namespace unecho::packet {
namespace {

using test::build;
using test::build_ip;
using test::Bytes;
using test::ip_offset;
using test::PacketSpec;

struct Spot {
    L3Type found;
    std::size_t offset;  // offset of the IP packet in the frame
    std::uint32_t length;
    bool operator==(const Spot&) const = default;
};

Spot parse(const Bytes& bytes) {
    const ExactFrame exact(bytes);
    const auto [found, ip] = parse_frame(LinkType::kEthernet, exact.frame());
    if (found != L3Type::kIpv4 && found != L3Type::kIpv6) {
        return {found, 0, 0};
    }
    return {found, static_cast<std::size_t>(ip.data - exact.frame().data), ip.length};
}

constexpr Spot kNoIp{L3Type::kNonIp, 0, 0};
constexpr Spot kBroken{L3Type::kMalformed, 0, 0};

TEST(FindIp, any_depth_of_tags_and_labels_is_walked_over) {
    for (const unsigned version : {4U, 6U}) {
        const L3Type found = version == 4 ? L3Type::kIpv4 : L3Type::kIpv6;
        PacketSpec spec{.version = version, .payload = test::counting(9)};
        const auto size = static_cast<std::uint32_t>(build_ip(spec).size());
        for (std::size_t tags = 0; tags < 6; ++tags) {
            for (std::size_t labels = 0; labels < 6; ++labels) {
                spec.tags.assign(tags, {0x8100, 0xFFFF});
                spec.labels.assign(labels, 0xFFFFF);
                EXPECT_EQ(parse(build(spec)), (Spot{found, 14 + 4 * (tags + labels), size}));
            }
        }
    }
}

// Two EtherTypes are labels, two are IP, and some announce tags.
TEST(FindIp, every_other_ethertype_is_not_ip) {
    Bytes frame = build({.payload = test::counting(40)});
    for (unsigned type = 0; type < 0x10000; ++type) {
        frame[12] = static_cast<std::uint8_t>(type >> 8);
        frame[13] = static_cast<std::uint8_t>(type);
        static const std::set<unsigned> kKnown{0x0800, 0x86DD, 0x8847, 0x8848};
        if (!kKnown.contains(type) && tag_kind(static_cast<std::uint16_t>(type)) == nullptr) {
            ASSERT_EQ(parse(frame), kNoIp) << std::hex << type;
        }
    }
}

TEST(FindIp, only_a_sound_ipv4_header_is_ip_below_labels) {
    const Bytes sound =
        build({.labels = {5}, .options = {1, 1, 1, 1}, .payload = test::counting(40)});
    EXPECT_EQ(parse(sound).found, L3Type::kIpv4);
    for (std::size_t bit = 0; bit < std::size_t{24} * 8; ++bit) {  // the checksum covers each bit
        Bytes frame = sound;
        frame[18 + bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
        EXPECT_EQ(parse(frame), kNoIp) << bit;
    }
}

TEST(FindIp, only_a_sound_ipv6_header_is_ip_below_labels) {
    const PacketSpec spec{.labels = {5}, .version = 6, .payload = test::counting(400)};
    const Bytes sound = build(spec);
    EXPECT_EQ(parse(sound).found, L3Type::kIpv6);
    const std::size_t ip = ip_offset(spec);
    struct Change {
        std::size_t at;
        std::uint8_t value;
        L3Type found;
    };
    for (const Change& change : std::initializer_list<Change>{
             {4, 0x70, L3Type::kIpv6},    // more than was captured
             {5, 0x00, L3Type::kNonIp},   // so little that most of the frame would not count
             {6, 2, L3Type::kNonIp},      // IGMP, which IPv6 does not have
             {7, 0, L3Type::kNonIp},      // hop limit
             {8, 0xFF, L3Type::kNonIp},   // a multicast source address
             {8, 0x02, L3Type::kNonIp},   // not allocated
             {24, 0xFF, L3Type::kIpv6},   // to a group
             {24, 0x02, L3Type::kNonIp},  // not allocated
         }) {
        Bytes frame = sound;
        frame[ip + change.at] = change.value;
        if (change.at == 5) {
            frame[ip + 4] = 0;
            frame[ip + 5] = 40;
        }
        EXPECT_EQ(parse(frame).found, change.found) << change.at << " " << unsigned{change.value};
    }
}

TEST(FindIp, below_labels_a_trailer_may_follow_and_the_end_may_be_cut_off) {
    for (const unsigned version : {4U, 6U}) {
        const L3Type found = version == 4 ? L3Type::kIpv4 : L3Type::kIpv6;
        PacketSpec spec{.labels = {5}, .version = version, .payload = test::counting(200)};
        Bytes cut = build(spec);
        cut.resize(100);
        EXPECT_EQ(parse(cut).found, found);
        spec.trailer = Bytes(kMaxTrailer, 1);
        EXPECT_EQ(parse(build(spec)).found, found);
        spec.trailer.push_back(1);
        EXPECT_EQ(parse(build(spec)), kNoIp);
    }
}

TEST(FindIp, ipv4_header_length_decides_what_must_be_there) {
    Bytes frame = build({.options = Bytes(40, 1)});
    const auto whole = static_cast<std::uint32_t>(frame.size() - 14);
    for (unsigned words = 0; words < 16; ++words) {
        frame[14] = static_cast<std::uint8_t>(0x40 | words);
        const Spot expected = words < 5 ? kBroken : Spot{L3Type::kIpv4, 14, whole};
        EXPECT_EQ(parse(frame), expected) << words;
        if (words >= 5) {
            const Bytes cut(frame.begin(), frame.begin() + 14 + words * 4 - 1);
            EXPECT_EQ(parse(cut), kBroken) << words;
            const Bytes just(frame.begin(), frame.begin() + 14 + words * 4);
            EXPECT_EQ(parse(just), (Spot{L3Type::kIpv4, 14, words * 4})) << words;
        }
    }
}

TEST(FindIp, ipv4_total_length_ends_the_packet) {
    Bytes frame = build({.options = Bytes(4, 1), .payload = test::counting(100)});
    const auto captured = static_cast<std::uint32_t>(frame.size() - 14);
    for (std::uint32_t total = 0; total < 300; ++total) {
        frame[16] = static_cast<std::uint8_t>(total >> 8);
        frame[17] = static_cast<std::uint8_t>(total);
        Spot expected{L3Type::kIpv4, 14, std::min(total, captured)};
        if (total == 0) {
            expected.length = captured;
        } else if (total < 24) {
            expected = kBroken;
        }
        EXPECT_EQ(parse(frame), expected) << total;
    }
}

TEST(FindIp, ipv6_payload_length_ends_the_packet) {
    for (const std::uint8_t next : {17, 59, 0}) {
        Bytes frame = build({.version = 6, .protocol = 17, .payload = test::counting(100)});
        frame[20] = next;
        const auto captured = static_cast<std::uint32_t>(frame.size() - 14);
        for (std::uint32_t payload = 0; payload < 300; ++payload) {
            frame[18] = static_cast<std::uint8_t>(payload >> 8);
            frame[19] = static_cast<std::uint8_t>(payload);
            const bool offloaded = payload == 0 && next != 59;
            const std::uint32_t length = offloaded ? captured : std::min(40 + payload, captured);
            EXPECT_EQ(parse(frame), (Spot{L3Type::kIpv6, 14, length})) << payload;
        }
    }
}

TEST(FindIp, jumbo_frames_and_offloaded_giants_keep_their_length) {
    for (const unsigned version : {4U, 6U}) {
        const std::size_t most = version == 4 ? 65535 - 28 : 65535 - 8;
        for (const std::size_t payload : {std::size_t{8972}, most}) {
            const Bytes frame = build({.version = version, .payload = test::counting(payload)});
            EXPECT_EQ(parse(frame).length, frame.size() - 14);
        }
        Bytes giant = build({.version = version, .payload = test::counting(100'000)});
        const std::size_t at = version == 4 ? 16 : 18;
        giant[at] = giant[at + 1] = 0;
        EXPECT_EQ(parse(giant).length, giant.size() - 14);
    }
}

// ---- flow fields ----

struct Flow {
    bool complete;
    std::uint16_t source_port;
    std::uint16_t destination_port;
    std::uint8_t protocol;
    std::ptrdiff_t addresses;  // offset from the IP header
    bool operator==(const Flow&) const = default;
};

Flow flow_of(const Bytes& ip_bytes) {
    const ExactFrame exact(ip_bytes);
    const IpPacket ip{exact.frame().data, exact.frame().length};
    FlowFields flow{nullptr, 0xDEAD, 0xDEAD, 0xAD};
    const bool complete =
        ip.data[0] >> 4 == 4 ? read_flow_ipv4(ip, flow) : read_flow_ipv6(ip, flow);
    return {complete, flow.source_port, flow.destination_port, flow.protocol,
            flow.addresses - ip.data};
}

TEST(ReadFlow, five_protocols_have_ports) {
    static const std::set<unsigned> kPorted{6, 17, 33, 132, 136};
    for (const unsigned version : {4U, 6U}) {
        // For these protocols, the same bytes behind IPv6 would be read as an extension header.
        static const std::set<unsigned> kExtensions{0, 43, 44, 51, 60, 135, 139, 140};
        Bytes ip = build_ip({.version = version,
                             .protocol = 17,
                             .source_port = 0x1234,
                             .destination_port = 0xABCD,
                             .payload = test::counting(40)});
        for (unsigned protocol = 0; protocol < 256; ++protocol) {
            if (version == 6 && kExtensions.contains(protocol)) {
                continue;
            }
            ip[version == 4 ? 9 : 6] = static_cast<std::uint8_t>(protocol);
            const auto number = static_cast<std::uint8_t>(protocol);
            const std::ptrdiff_t addresses = version == 4 ? 12 : 8;
            const Flow expected = kPorted.contains(protocol)
                                      ? Flow{true, 0x1234, 0xABCD, number, addresses}
                                      : Flow{true, 0, 0, number, addresses};
            EXPECT_EQ(flow_of(ip), expected) << version << " " << protocol;
        }
    }
}

TEST(ReadFlow, ports_cut_short_leave_addresses_and_protocol) {
    for (const unsigned version : {4U, 6U}) {
        const PacketSpec spec{.version = version, .protocol = 6};
        const Bytes ip = build_ip(spec);
        const std::size_t header = version == 4 ? 20 : 40;
        const std::ptrdiff_t addresses = version == 4 ? 12 : 8;
        for (std::size_t n = header; n < header + 4; ++n) {
            EXPECT_EQ(flow_of({ip.begin(), ip.begin() + static_cast<std::ptrdiff_t>(n)}),
                      (Flow{false, 0, 0, 6, addresses}));
        }
        EXPECT_EQ(flow_of({ip.begin(), ip.begin() + static_cast<std::ptrdiff_t>(header) + 4}),
                  (Flow{true, 1000, 2000, 6, addresses}));
    }
}

TEST(ReadFlow, ipv6_chain_of_every_header_ends_at_the_ports) {
    PacketSpec spec{.version = 6, .protocol = 33};
    for (const std::uint8_t type : {0, 43, 60, 135, 139, 140}) {
        spec.extensions.push_back(test::options_extension(type, type % 3));
    }
    spec.extensions.push_back(test::fragment_extension(0, true));
    spec.extensions.push_back(test::authentication_extension(16));
    EXPECT_EQ(flow_of(build_ip(spec)), (Flow{true, 1000, 2000, 33, 8}));
}

TEST(ReadFlow, ipv6_header_beyond_the_packet_is_cut) {
    PacketSpec spec{.version = 6, .extensions = {test::options_extension(60, 0)}, .protocol = 59};
    Bytes ip = build_ip(spec);
    EXPECT_EQ(flow_of(ip), (Flow{true, 0, 0, 59, 8}));
    ip[41] = 1;  // claims 8 bytes more than exist
    EXPECT_EQ(flow_of(ip), (Flow{false, 0, 0, 59, 8}));
    ip[41] = 0;
    ip.pop_back();
    EXPECT_EQ(flow_of(ip), (Flow{false, 0, 0, 60, 8}));
}

TEST(ReadFlow, ipv6_longest_chain_is_walked_to_its_end) {
    PacketSpec spec{.version = 6, .protocol = 17};
    spec.extensions.assign(8000, test::options_extension(60));
    EXPECT_EQ(flow_of(build_ip(spec)), (Flow{true, 1000, 2000, 17, 8}));
}

unsigned dscp(const Bytes& bytes) {
    const ExactFrame exact(bytes);
    return dscp_of(parse_frame(LinkType::kEthernet, exact.frame()));
}

TEST(ReadDscp, of_every_traffic_class_is_its_upper_six_bits) {
    for (const unsigned version : {4U, 6U}) {
        for (unsigned tos = 0; tos < 256; ++tos) {
            PacketSpec spec{.version = version,
                            .tos = static_cast<std::uint8_t>(tos),
                            .flow_label = 0xFFFFF,
                            .payload = test::counting(9)};
            EXPECT_EQ(dscp(build(spec)), tos / 4) << version;
            spec.tags = {{0x8100, 0xFFFF}};
            spec.labels = {16};
            EXPECT_EQ(dscp(build(spec)), tos / 4) << version;
        }
    }
}

TEST(ReadDscp, without_a_whole_ip_header_is_none) {
    const Bytes whole = build({.tos = 0xB8, .payload = test::counting(9)});
    EXPECT_EQ(dscp(whole), 46U);
    for (std::size_t length = 0; length < 14 + 20; ++length) {
        EXPECT_EQ(dscp(Bytes(whole.begin(), whole.begin() + static_cast<long>(length))), kDscps);
    }
    EXPECT_EQ(dscp(test::build_ethernet(0x0806, test::counting(46))), kDscps);
}

}  // namespace
}  // namespace unecho::packet
