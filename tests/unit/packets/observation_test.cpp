// SPDX-License-Identifier: BSD-3-Clause
// Points of observation: what tells two places apart, and what may change without another place.
#include "packets/keys/observation.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "digest_frame.h"
#include "packets/headers.h"
#include "support/link_frames.h"

namespace unecho::packet {
namespace {

using test::build_ip;
using test::Bytes;
using test::counting;
using test::PacketSpec;
using test::operator+;

// Compare two points, naming the members that differ: "link pair" for two pairs of stations.
std::string difference(const ObservationPoint& one, const ObservationPoint& other) {
    std::string out;
    out += one.link != other.link ? "link " : "";
    out += one.pair != other.pair ? "pair " : "";
    out += one.tags != other.tags ? "tags " : "";
    out += one.ttl != other.ttl ? "ttl " : "";
    return out.substr(0, out.size() - (out.empty() ? 0 : 1));
}

// docs/same-packet.md: MAC addresses or the cooked header without its protocol; else the hop limit.
// Every byte of every header is changed, while the IP packet stays where it is.
TEST(ObservationPoint, is_the_link_header_or_else_the_hop_limit) {
    const std::map<LinkType, std::pair<std::size_t, std::size_t>> addresses{
        {LinkType::kEthernet, {0, 12}}, {LinkType::kSll, {0, 14}}, {LinkType::kSll2, {4, 20}}};
    for (const LinkType link : test::kIpLinks) {
        const auto found = addresses.find(link);
        const auto [begin, end] =
            found == addresses.end() ? std::pair<std::size_t, std::size_t>{} : found->second;
        for (const unsigned version : {4U, 6U}) {
            for (const Bytes& header : test::link_headers(link, version)) {
                Bytes bytes = header + build_ip({.version = version, .ttl = 50});
                const std::size_t hop_limit = header.size() + (version == 4 ? 8 : 7);
                const Frame frame{bytes.data(), static_cast<std::uint32_t>(bytes.size())};
                const Parsed parsed = parse_frame(link, frame);
                const auto point = observation_point_of(link, frame, parsed, test_secret());
                EXPECT_EQ(point.ttl, 50U);
                // Tags are read on Ethernet only, from the first one's EtherType on.
                const std::size_t tags = link == LinkType::kEthernet ? header.size() - 2 : 0;
                const bool one = tags == 16;  // is reported as it is, several as a hash
                EXPECT_EQ(point.tags, tags <= 12 ? 0
                                      : one      ? load_be32(&bytes[12])
                                                 : point.tags | 1);
                for (std::size_t at = 0; at < bytes.size(); ++at) {
                    bytes[at] ^= 1;
                    const bool address = at >= begin && at < end;
                    const std::string expected = address                   ? "link pair"
                                                 : at >= 12 && at < tags   ? "tags"
                                                 : at == hop_limit && end  ? "ttl"
                                                 : at == hop_limit && !end ? "link ttl"
                                                                           : "";
                    EXPECT_EQ(
                        difference(point, observation_point_of(link, frame, parsed, test_secret())),
                        expected)
                        << name_of(link) << " " << at;
                    bytes[at] ^= 1;
                }
            }
        }
    }
}

// ---- inside tunnels ----

// A mirrored packet: in VXLAN with its Ethernet frame, or directly in an IP packet.
struct Mirrored {
    PacketSpec outer{.source_port = 50'000};
    std::uint8_t vni = 9;
    PacketSpec inner{.version = 6, .payload = counting(30)};
};

Bytes mirrored_frame(const Mirrored& mirrored, bool vxlan) {
    PacketSpec outer = mirrored.outer;
    outer.destination_port = 4789;
    outer.protocol = vxlan ? 17 : 41;
    outer.payload = vxlan ? Bytes{8, 0, 0, 0, 0, 0, mirrored.vni, 0} + test::build(mirrored.inner)
                          : build_ip(mirrored.inner);
    return test::build(outer);
}

ObservationPoint point_inside(const Bytes& bytes) {
    static const Tunnels kAll(EncapsulationSet::all());
    const ExactFrame exact(bytes);
    const Frame frame = exact.frame();
    ParsedBurst parsed;
    DecapsulatedBurst opened;
    parse_innermost(kAll, LinkType::kEthernet, {&frame, 1}, parsed, opened);
    return observation_point_inside(kAll, LinkType::kEthernet, frame, parsed.at(0), test_secret());
}

// The place is the link, the ends of the tunnel and its identifier, and the stations inside. Other
// outer headers change from packet to packet: VXLAN's source port is a hash of the flow inside.
TEST(ObservationPoint, inside_a_tunnel_is_also_its_ends_and_identifier) {
    struct Change {
        const char* name;
        void (*apply)(Mirrored& mirrored);
        std::string in_vxlan;
        std::string in_ip;
    };
    const std::vector<Change> changes{
        {"nothing", [](Mirrored&) {}, "", ""},
        {"outer port", [](Mirrored& m) { m.outer.source_port += 1; }, "", ""},
        {"outer ID", [](Mirrored& m) { m.outer.id += 1; }, "", ""},
        {"outer TTL", [](Mirrored& m) { m.outer.ttl -= 1; }, "", ""},
        {"outer MAC", [](Mirrored& m) { m.outer.source_mac[5] ^= 8; }, "link pair", "link pair"},
        {"near end", [](Mirrored& m) { m.outer.source += 1; }, "link pair", "link pair"},
        {"far end", [](Mirrored& m) { m.outer.destination += 1; }, "link pair", "link pair"},
        {"VNI", [](Mirrored& m) { m.vni += 1; }, "link pair", ""},
        {"inner MAC", [](Mirrored& m) { m.inner.destination_mac[5] ^= 8; }, "link pair", ""},
        {"inner tag",
         [](Mirrored& m) {
             m.inner.tags.push_back({0x8100, 7});
         },
         "tags", ""},
        {"inner hop limit", [](Mirrored& m) { m.inner.ttl -= 1; }, "ttl", "link ttl"},
        {"inner body", [](Mirrored& m) { m.inner.payload[3] ^= 1; }, "", ""}};
    for (const bool vxlan : {true, false}) {
        const ObservationPoint point = point_inside(mirrored_frame({}, vxlan));
        EXPECT_EQ(point.ttl, 64U);
        for (const Change& change : changes) {
            Mirrored other;
            change.apply(other);
            EXPECT_EQ(difference(point, point_inside(mirrored_frame(other, vxlan))),
                      vxlan ? change.in_vxlan : change.in_ip)
                << change.name;
        }
    }
    EXPECT_NE(
        difference(point_inside(mirrored_frame({}, true)), point_inside(mirrored_frame({}, false))),
        "");
}

}  // namespace
}  // namespace unecho::packet
