// SPDX-License-Identifier: BSD-3-Clause
// Headers between two EtherTypes: copies with and without them are one packet.
#include "packets/tags.h"

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "digest_frame.h"
#include "support/packet_builder.h"
#include "support/source_root.h"

namespace unecho::packet {
namespace {

using test::Bytes;
using test::PacketSpec;

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
