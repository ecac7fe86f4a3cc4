// SPDX-License-Identifier: BSD-3-Clause
// Headers between two EtherTypes: copies with and without them are one packet.
#include "packets/tags.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "digest_frame.h"
#include "support/link_frames.h"
#include "support/packet_builder.h"
#include "support/source_root.h"

namespace unecho::packet {
namespace {

using test::Bytes;
using test::PacketSpec;
using test::operator+;

// The bytes between a frame's MAC addresses and its EtherType.
struct TagBytes {
    std::uint16_t type;  // 0: a length of 802.3
    Bytes bytes;         // behind the type, without the EtherType that follows
};

const Bytes kInnerMacs{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};  // those of PacketSpec

Bytes before_macs(Bytes bytes) {
    bytes.insert(bytes.end(), kInnerMacs.begin(), kInnerMacs.end());
    return bytes;
}

const std::vector<TagBytes>& samples() {
    static const std::vector<TagBytes> kSamples{
        {0x8100, {0, 7}},
        {0x88A8, {0, 7}},
        {0x9100, {0, 7}},
        {0x9200, {0, 7}},
        {0x8926, {0, 0, 0, 10}},
        {0x8926, {0x80, 0x16, 0, 0}},
        {0x893F, {0, 0, 0x10, 5, 0, 0}},
        {0x8909, {1, 1, 0, 1, 0, 17}},
        {0x8988, {0, 0, 0, 0, 0, 7}},
        {0xD28B, {0, 1, 0, 0x10, 1, 2, 3, 4, 5, 6, 7, 8}},
        {0xD28B, {0, 1, 0, 0x20, 1, 2, 3, 4, 5, 6}},
        {0xD28B, {0, 1, 1, 0x10, 1, 2, 3, 4, 5, 6, 7, 8}},
        {0xD28B, {0, 1, 1, 0x20, 1, 2, 3, 4, 5, 6}},
        {0x892F, {0x00, 0x4E, 0, 1}},
        {0x892F, {0x10, 0x4E, 0, 1}},
        {0xF1C1, {0, 0, 0, 1}},
        {0x8903, before_macs({0, 0x60})},
        {0x22F3, before_macs({0, 1, 0, 1, 0, 2})},
        {0x22F3, before_macs({0, 0x41, 0, 1, 0, 2, 9, 9, 9, 9})},
        {0x894F, before_macs({0x0F, 0xC2, 2, 3, 0, 0, 1, 255})},
        {0x894F, before_macs({0x0F, 0xC6, 1, 3, 0, 0,  1,  255, 1,  2,  3,  4,
                              5,    6,    7, 8, 9, 10, 11, 12,  13, 14, 15, 16})},
        {0x6558, before_macs({})},
        {0x8870, {0xAA, 0xAA, 3, 0, 0, 0}},
        {0, {0xAA, 0xAA, 3, 0, 0, 0}},
        {0, {0xAA, 0xAA, 3, 0, 0, 0xF8}},
    };
    return kSamples;
}

bool is_llc(const TagBytes& tag) {
    return tag.type == 0 || tag.type == 0x8870;
}

// Insert a tag before the EtherType at 12. For 802.3, the length covers the bytes that follow.
Bytes tagged(const Bytes& frame, const TagBytes& tag) {
    Bytes out(frame.begin(), frame.begin() + 12);
    const auto type =
        tag.type != 0 ? tag.type : static_cast<std::uint16_t>(frame.size() - 12 + tag.bytes.size());
    out.push_back(static_cast<std::uint8_t>(type >> 8));
    out.push_back(static_cast<std::uint8_t>(type));
    out.insert(out.end(), tag.bytes.begin(), tag.bytes.end());
    out.insert(out.end(), frame.begin() + 12, frame.end());
    return out;
}

TEST(Tags, each_kind_has_a_sample) {
    std::set<std::uint16_t> sampled;
    for (const TagBytes& tag : samples()) {
        sampled.insert(tag.type);
    }
    for (const TagKind& kind : tag_kinds()) {
        EXPECT_TRUE(sampled.contains(kind.type)) << std::hex << kind.type;
        if (kind.type != 0) {
            EXPECT_EQ(tag_kind(kind.type), &kind) << std::hex << kind.type;
        }
    }
    EXPECT_EQ(sampled.size(), tag_kinds().size());
}

TEST(Tags, in_front_of_ip_change_no_key) {
    for (const unsigned version : {4U, 6U}) {
        const Bytes plain = test::build({.version = version, .payload = test::counting(60)});
        for (const KeyMode mode : {KeyMode::kPacket, KeyMode::kFlow, KeyMode::kFlowBidir}) {
            const Digested digest = digest_of(mode, plain);
            for (const TagBytes& one : samples()) {
                const Bytes once = tagged(plain, one);
                EXPECT_EQ(digest_of(mode, once), digest) << std::hex << one.type;
                for (const TagBytes& other : samples()) {
                    if (one.type == 0 && is_llc(other)) {
                        continue;  // SNAP holds no length
                    }
                    EXPECT_EQ(digest_of(mode, tagged(once, other)), digest)
                        << std::hex << other.type << " " << one.type;
                }
            }
        }
    }
}

TEST(Tags, cut_short_are_malformed) {
    const Bytes plain = test::build({.payload = test::counting(60)});
    for (const TagBytes& tag : samples()) {
        if (is_llc(tag)) {
            continue;  // the rest of LLC may be something else
        }
        const Bytes whole = tagged(plain, tag);
        for (std::size_t end = 14; end < 16 + tag.bytes.size(); ++end) {
            const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(end));
            const ExactFrame exact(cut);
            EXPECT_EQ(parse_frame(LinkType::kEthernet, exact.frame()).found, L3Type::kMalformed)
                << std::hex << tag.type << " " << end;
        }
    }
}

TEST(Tags, of_another_version_or_kind_are_not_passed) {
    const Bytes plain = test::build({.payload = test::counting(60)});
    for (const TagBytes& tag : std::vector<TagBytes>{
             {0xD28B, {0, 3, 0, 0x10, 1, 2, 3, 4, 5, 6, 7, 8}},
             {0xD28B, {0, 1, 0, 0x30, 1, 2, 3, 4, 5, 6, 7, 8}},
             {0xD28B, {0, 1, 2, 0x10, 1, 2, 3, 4, 5, 6, 7, 8}},
             {0x22F3, before_macs({0x40, 1, 0, 1, 0, 2})},
             {0x894F, before_macs({0x2F, 0xC2, 2, 3, 0, 0, 1, 255})},  // OAM
             {0x894F, before_macs({0x0F, 0xC2, 2, 4, 0, 0, 1, 255})},
             {0x894F, before_macs({0x0F, 0xC1, 2, 3, 0, 0, 1, 255})},
             {0, {0xAA, 0xAA, 3, 0, 0, 0x0C}},
             {0, {0xAA, 0xAB, 3, 0, 0, 0}},
         }) {
        const ExactFrame exact(tagged(plain, tag));
        EXPECT_EQ(parse_frame(LinkType::kEthernet, exact.frame()).found, L3Type::kNonIp)
            << std::hex << tag.type;
    }
}

// RFC 8300, section 2.2: NSH holds IPv4, IPv6, Ethernet or MPLS, and names which.
TEST(Tags, nsh_leads_to_ip_and_labels_without_an_ethernet_header) {
    for (const unsigned version : {4U, 6U}) {
        const PacketSpec spec{.version = version, .payload = test::counting(60)};
        const Bytes label{0, 1, 1, 64};
        const auto found = [&](std::uint8_t next, const Bytes& payload) {
            const Bytes nsh{0x0F, 0xC2, 2, next, 0, 0, 1, 255};
            return digest_of(KeyMode::kPacket, test::build_ethernet(0x894F, nsh + payload));
        };
        const Bytes ip = test::build_ip(spec);
        const Digested plain = digest_of(KeyMode::kPacket, test::build(spec));
        EXPECT_EQ(found(version == 4 ? 1 : 2, ip), plain);
        EXPECT_EQ(found(5, label + ip), plain);
        // Another version than announced, and a label without a packet behind it.
        EXPECT_EQ(found(version == 4 ? 2 : 1, ip).outcome, KeyOutcome::kMalformed);
        EXPECT_EQ(found(5, label).outcome, KeyOutcome::kMalformed);
    }
}

// ---- networks ----

struct Networks {
    const char* name;
    std::uint16_t type;
    Bytes payload;  // behind the EtherType
    std::vector<std::uint64_t> expected;
};

// Kind and number of each network, the outermost first. Priorities, direction bits and traffic
// classes are no part of it.
const std::vector<Networks>& networks() {
    static const std::vector<Networks> kNetworks{
        {"none", 0x0800, {}, {}},
        {"VLAN", 0x8100, {0xE0, 7, 8, 0}, {0x8100'0000'0007}},
        {"provider's VLAN, VLAN",
         0x88A8,
         {0, 7, 0x81, 0, 0, 8, 8, 0},
         {0x8100'0000'0007, 0x8100'0000'0008}},
        {"VN-Tag", 0x8926, {0x80, 0x16, 0x80, 9, 8, 0}, {0x8926'0016'0009}},
        {"E-TAG", 0x893F, {0xE0, 0, 0x10, 5, 0, 1, 8, 0}, {0x893F'0010'0501}},
        {"label", 0x8847, {0, 1, 1, 64}, {0x8847'0000'0010}},
        {"labels, multicast",
         0x8848,
         {0, 1, 0x0E, 64, 0xFF, 0xFF, 0xF1, 1},
         {0x8847'0000'0010, 0x8847'000F'FFFF}},
        {"PPPoE session", 0x8864, {0x11, 0, 0, 9, 0, 60, 0, 0x21}, {0x8864'0000'0009}},
        {"VLAN, PPPoE session",
         0x8100,
         {0, 7, 0x88, 0x64, 0x11, 0, 0, 9, 0, 60, 0, 0x21},
         {0x8100'0000'0007, 0x8864'0000'0009}},
        {"security group", 0x8909, {1, 1, 0, 1, 0, 17, 8, 0}, {}},
        {"VLAN of a frame inside",
         0x8903,
         before_macs({0, 0x60}) + Bytes{0x81, 0, 0, 7, 8, 0},
         {0x8100'0000'0007}},
        {"VLAN, tag of another version",
         0x8100,
         {0, 7, 0xD2, 0x8B, 0, 3, 0, 0x10},
         {0x8100'0000'0007}},
        // A tag that is cut short names none.
        {"VLAN cut", 0x8100, {0, 7, 8}, {}},
        {"VLAN, VLAN cut", 0x8100, {0, 7, 0x81, 0, 0, 8, 8}, {0x8100'0000'0007}},
        {"label cut", 0x8847, {0, 1, 1}, {}},
        {"labels without a bottom", 0x8847, {0, 1, 0, 64, 0, 2}, {0x8847'0000'0010}},
        {"PPPoE cut", 0x8864, {0x11, 0, 0}, {}}};
    return kNetworks;
}

TEST(Networks, are_visited_from_the_outermost_with_kind_and_number) {
    for (const Networks& one : networks()) {
        const ExactFrame exact(one.payload);
        std::vector<std::uint64_t> visited;
        visit_networks(one.type, exact.frame().data, exact.frame().length, 0,
                       [&](std::uint64_t number) { visited.push_back(number); });
        EXPECT_EQ(visited, one.expected) << one.name;
    }
}

// A broker that turns Ethernet into another link type changes no network.
TEST(Networks, have_one_digest_on_every_link_type_with_an_ethertype) {
    const auto digest = [](LinkType link, const Bytes& bytes) {
        return tags_digest(link, ExactFrame(bytes).frame(), test_secret());
    };
    std::map<std::vector<std::uint64_t>, Digest> digests;
    for (const Networks& one : networks()) {
        const Bytes type{static_cast<std::uint8_t>(one.type >> 8),
                         static_cast<std::uint8_t>(one.type)};
        const Bytes wifi = Bytes{0x08, 0x01} + Bytes(22) + Bytes{0xAA, 0xAA, 3, 0, 0, 0} + type;
        const std::vector<std::pair<LinkType, Bytes>> headers{
            {LinkType::kEthernet, Bytes(12) + type},
            {LinkType::kSll, Bytes(14) + type},
            {LinkType::kSll2, type + Bytes(18)},
            {LinkType::kHdlc, Bytes{0x0F, 0} + type},
            {LinkType::kWifi, wifi},
            {LinkType::kRadiotap, Bytes{0, 0, 8, 0, 0, 0, 0, 0} + wifi},
            {LinkType::kPpi, Bytes{0, 0, 8, 0, 105, 0, 0, 0} + wifi},
            {LinkType::kAvs, Bytes{0x80, 0x21, 0x10, 1, 0, 0, 0, 8} + wifi}};
        const Digest first = digest(LinkType::kEthernet, headers.front().second + one.payload);
        EXPECT_EQ(first == 0, one.expected.empty()) << one.name;
        EXPECT_EQ(digests.emplace(one.expected, first).first->second, first) << one.name;
        for (const auto& [link, header] : headers) {
            EXPECT_EQ(digest(link, header + one.payload), first) << one.name << name_of(link);
            for (std::size_t n = 0; n < header.size(); ++n) {  // cut amid the header
                EXPECT_EQ(digest(link, {header.data(), header.data() + n}), 0U) << name_of(link);
            }
        }
        if (one.type == 0x8864) {
            EXPECT_EQ(digest(LinkType::kPppEther, one.payload), first);
        }
        for (const LinkType link : {LinkType::kRaw, LinkType::kPpp, LinkType::kFrameRelay}) {
            EXPECT_EQ(digest(link, type + one.payload), 0U) << name_of(link);
        }
        Bytes encrypted = wifi + one.payload;
        encrypted[1] |= 0x40;
        EXPECT_EQ(digest(LinkType::kWifi, encrypted), 0U);
    }
    std::set<Digest> distinct;
    for (const auto& one : digests) {
        EXPECT_TRUE(distinct.insert(one.second).second);
    }
}

// ---- with tags = "compare" ----

constexpr KeySpec kCompared{
    .mode = KeyMode::kPacket, .non_ip = NonIp::kFrame, .tags = Tags::kCompare};

Digest compared(const PacketSpec& spec) {
    return digest_of(kCompared, test::build(spec));
}

TEST(ComparedTags, networks_are_part_of_the_key_of_whatever_mode) {
    for (const KeyMode mode : {KeyMode::kPacket, KeyMode::kFlow, KeyMode::kFlowBidir}) {
        const KeySpec key{.mode = mode, .tags = Tags::kCompare};
        const Bytes plain = test::build({.version = 6, .payload = test::counting(60)});
        const Digest digest = digest_of(key, plain);
        EXPECT_EQ(digest, digest_of(mode, plain).digest);
        std::set<Digest> seen{digest};
        for (const TagBytes& tag : std::vector<TagBytes>{{0x8100, {0, 7}},
                                                         {0x8100, {0, 8}},
                                                         {0x893F, {0, 0, 0x10, 5, 0, 0}},
                                                         {0x893F, {0, 0, 0x10, 5, 0, 1}},
                                                         {0x8926, {0, 0, 0, 10}},
                                                         {0x8926, {0, 10, 0, 0}}}) {
            EXPECT_TRUE(seen.insert(digest_of(key, tagged(plain, tag))).second);
        }
    }
}

// These change on the way, and a trunk may use either EtherType.
TEST(ComparedTags, priorities_ttls_times_and_paths_do_not_count) {
    EXPECT_EQ(compared({.tags = {{0x8100, 0x0007}}}), compared({.tags = {{0x8100, 0xF007}}}));
    EXPECT_EQ(compared({.tags = {{0x8100, 7}}}), compared({.tags = {{0x88A8, 7}}}));
    Bytes labelled = test::build({.labels = {7}});
    const Digest digest = digest_of(kCompared, labelled);
    labelled[14 + 2] ^= 0x0E;  // traffic class
    labelled[14 + 3] = 9;      // TTL
    EXPECT_EQ(digest_of(kCompared, labelled), digest);
    const Bytes plain = test::build({});
    for (const TagBytes& tag : samples()) {
        const TagKind* const kind = tag_kind(tag.type != 0 ? tag.type : 60);
        ASSERT_NE(kind, nullptr);
        if (kind->network == nullptr) {
            EXPECT_EQ(digest_of(kCompared, tagged(plain, tag)), digest_of(kCompared, plain));
        }
    }
}

// The bytes that an audit compares distinguish the same packets.
TEST(ComparedTags, are_in_the_bytes_of_the_key) {
    const auto bytes = [](const KeySpec& key, const PacketSpec& spec) {
        const ExactFrame exact(test::build(spec));
        Bytes out(2000);
        out.resize(copy_key(key, LinkType::kEthernet, exact.frame(),
                            parse_frame(LinkType::kEthernet, exact.frame()),
                            TenantId(TenantSpace::kNone, 0), false, out));
        return out;
    };
    EXPECT_NE(bytes(kCompared, {.tags = {{0x8100, 7}}}), bytes(kCompared, {.tags = {{0x8100, 8}}}));
    EXPECT_EQ(bytes({}, {.tags = {{0x8100, 7}}}), bytes({}, {.tags = {{0x8100, 8}}}));
}

// Copies from two mirrors with different tunnels are one packet; two VLANs inside are two networks.
TEST(ComparedTags, inside_tunnels_are_those_of_the_innermost_frame) {
    KeySpec key = kCompared;
    key.tunnels = Tunnels(EncapsulationSet::all());
    const auto digest = [&](std::vector<test::Tag> outside, std::vector<test::Tag> inside) {
        const Bytes vxlan{8, 0, 0, 0, 0, 0, 9, 0};
        return digest_of(key, test::build({.tags = std::move(outside),
                                           .destination_port = 4789,
                                           .payload = vxlan + test::build({.tags = inside})}));
    };
    EXPECT_EQ(digest({}, {}), compared({}));
    EXPECT_EQ(digest({{0x8100, 5}}, {}), compared({}));
    EXPECT_EQ(digest({{0x8100, 5}}, {{0x8100, 7}}), compared({.tags = {{0x8100, 7}}}));
    EXPECT_NE(digest({}, {{0x8100, 8}}), digest({}, {{0x8100, 7}}));
    // An IP packet in an IP packet is behind no tags of its own.
    const Bytes bare =
        test::build({.tags = {{0x8100, 5}}, .protocol = 4, .payload = test::build_ip({})});
    EXPECT_EQ(digest_of(key, bare), compared({}));
}

TEST(ComparedTags, count_on_other_link_types_and_not_twice_in_frame_keys) {
    const auto cooked = [](const Bytes& rest) { return Bytes(14) + rest + test::build_ip({}); };
    EXPECT_EQ(digest_of(kCompared, cooked({8, 0}), LinkType::kSll), compared({}));
    EXPECT_EQ(digest_of(kCompared, cooked({0x81, 0, 0, 7, 8, 0}), LinkType::kSll),
              compared({.tags = {{0x8100, 7}}}));
    EXPECT_EQ(digest_of(kCompared, test::build_ip({}), LinkType::kRaw), compared({}));
    const Bytes tagged_frame = test::build({.tags = {{0x8100, 7}}});
    EXPECT_EQ(digest_of(KeySpec{.mode = KeyMode::kFrame, .tags = Tags::kCompare}, tagged_frame),
              digest_of(KeyMode::kFrame, tagged_frame).digest);
}

TEST(Tags, each_has_its_row_in_the_documentation) {
    std::ifstream file(test::source_root() + "/docs/captures.md");
    std::stringstream page;
    page << file.rdbuf();
    for (const TagKind& kind : tag_kinds()) {
        std::stringstream row;
        row << "\n| ";
        if (kind.type == 0) {
            row << "a length";
        } else {
            row << "0x" << std::hex << std::uppercase << kind.type;
        }
        row << " | " << kind.name << " | " << kind.source << " | ";
        EXPECT_NE(page.str().find(row.str()), std::string::npos) << row.str();
    }
}

}  // namespace
}  // namespace unecho::packet
