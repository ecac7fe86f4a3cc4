// SPDX-License-Identifier: BSD-3-Clause
// Stage parse over bursts: against the definition, against itself one by one, and the quick way of
// plain packets of Ethernet against the general way.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "digest_frame.h"
#include "support/link_frames.h"
#include "support/packet_samples.h"

namespace unecho::packet {
namespace {

using test::build;
using test::build_ip;
using test::Bytes;
using test::KeyOutcome;
using test::link_headers;
using test::packet_samples;
using test::PacketSample;
using test::reference_key;
using test::operator+;

// Whatever a burst before has left there.
ParsedBurst used() {
    ParsedBurst parsed;
    parsed.ipv4 = parsed.ipv6 = parsed.non_ip = parsed.malformed = ~std::uint64_t{0};
    parsed.ip.fill({reinterpret_cast<const std::uint8_t*>(1), 1});
    return parsed;
}

std::uint64_t first(std::size_t n) {
    return n == 0 ? 0 : ~std::uint64_t{0} >> (64 - n);
}

// Headers of the link type before packets of both versions, cut and changed at random.
std::vector<Bytes> frames_of(Link link, std::mt19937& random, unsigned count) {
    std::vector<Bytes> out;
    for (unsigned i = 0; i < count; ++i) {
        const unsigned version = random() % 2 == 0 ? 4 : 6;
        const std::vector<Bytes> headers = link_headers(link, version);
        Bytes frame = headers.empty() ? Bytes() : headers[random() % headers.size()];
        frame = frame + build_ip({.version = version, .payload = test::counting(random() % 40)});
        if (random() % 2 == 0) {
            frame[random() % std::min<std::size_t>(frame.size(), 60)] =
                static_cast<std::uint8_t>(random());
        }
        if (random() % 3 == 0) {
            frame.resize(random() % (frame.size() + 20));
        }
        out.push_back(frame);
    }
    return out;
}

struct Exact {
    explicit Exact(const std::vector<Bytes>& all) {
        for (const Bytes& bytes : all) {
            blocks.emplace_back(bytes);
            frames.push_back(blocks.back().frame());
        }
    }
    std::vector<ExactFrame> blocks;
    std::vector<Frame> frames;
};

void expect_same(const Parsed& got, const Parsed& expected) {
    EXPECT_EQ(got.found, expected.found);
    EXPECT_EQ(got.ip.data, expected.ip.data);
    EXPECT_EQ(got.ip.length, expected.ip.length);
}

TEST(ParseBurst, of_every_size_equals_its_frames_one_by_one_whatever_was_there) {
    std::mt19937 random(1);
    for (unsigned number = 0; number < kLinks; ++number) {
        const auto link = static_cast<Link>(number);
        for (std::size_t n = 0; n <= kMaxBurst; n += link == Link::kEthernet ? 1 : 16) {
            const Exact burst(frames_of(link, random, static_cast<unsigned>(n)));
            ParsedBurst parsed = used();
            parse_burst(link, burst.frames, parsed);
            EXPECT_EQ(parsed.ipv4 | parsed.ipv6 | parsed.non_ip | parsed.malformed, first(n));
            EXPECT_EQ(parsed.ipv4 + parsed.ipv6 + parsed.non_ip + parsed.malformed, first(n));
            for (std::size_t i = 0; i < n; ++i) {
                expect_same(parsed.at(i), parse_frame(link, burst.frames[i]));
            }
        }
    }
}

// The key of mode packet begins with the version, and has all bytes of the packet.
TEST(ParseBurst, of_every_link_type_finds_what_the_definition_finds) {
    std::mt19937 random(2);
    for (unsigned number = 0; number < kLinks; ++number) {
        const auto link = static_cast<Link>(number);
        std::array<unsigned, 4> met{};
        for (unsigned round = 0; round < 30; ++round) {
            const std::vector<Bytes> all = frames_of(link, random, kMaxBurst);
            const Exact burst(all);
            ParsedBurst parsed = used();
            parse_burst(link, burst.frames, parsed);
            for (std::size_t i = 0; i < kMaxBurst; ++i) {
                const test::ReferenceKey key = reference_key(KeyMode::kPacket, all[i], link);
                const Found found = parsed.found(i);
                ++met[static_cast<std::size_t>(found)];
                const bool is_ip = found == Found::kIpv4 || found == Found::kIpv6;
                ASSERT_EQ(is_ip, key.outcome == KeyOutcome::kKeyed) << name_of(link);
                ASSERT_EQ(found == Found::kNonIp, key.outcome == KeyOutcome::kNonIp);
                if (is_ip) {
                    const IpPacket& ip = parsed.ip[i];
                    ASSERT_EQ(ip.length, key.bytes.size()) << name_of(link);
                    ASSERT_EQ(ip.data[0] >> 4, found == Found::kIpv4 ? 4 : 6);
                    ASSERT_EQ(key.bytes[0] >> 4, ip.data[0] >> 4);
                    ASSERT_TRUE(
                        std::equal(ip.data + 12, ip.data + ip.length, key.bytes.begin() + 12));
                } else {
                    ASSERT_EQ(parsed.ip[i].length, 0U);
                }
            }
        }
        const bool takes_v4 = link != Link::kUnknown && link != Link::kIpv6;
        const bool takes_v6 = link != Link::kUnknown && link != Link::kIpv4;
        EXPECT_EQ(met[0] > 200, takes_v4) << name_of(link);
        EXPECT_EQ(met[1] > 200, takes_v6) << name_of(link);
    }
}

// Of a Linux cooked header all that Ethernet has but the MAC addresses: the same frame in its dress
// goes the general way.
TEST(ParseBurst, plain_packets_of_ethernet_are_found_as_in_another_dress) {
    std::vector<Bytes> all;
    for (const PacketSample& sample : packet_samples()) {
        for (std::size_t n = 14; n <= sample.bytes.size(); ++n) {
            all.emplace_back(sample.bytes.begin(),
                             sample.bytes.begin() + static_cast<std::ptrdiff_t>(n));
        }
        for (std::size_t at = 12; at < sample.bytes.size(); ++at) {
            for (const unsigned flip : {0x01U, 0x10U, 0x40U, 0x7FU, 0xFFU}) {
                all.push_back(sample.bytes);
                all.back()[at] ^= static_cast<std::uint8_t>(flip);
            }
        }
    }
    std::size_t found = 0;
    for (const Bytes& bytes : all) {
        const ExactFrame plain(bytes);
        const ExactFrame cooked(Bytes(14) + Bytes(bytes.begin() + 12, bytes.end()));
        const Parsed one = parse_frame(Link::kEthernet, plain.frame());
        const Parsed other = parse_frame(Link::kSll, cooked.frame());
        ASSERT_EQ(one.found, other.found);
        ASSERT_EQ(one.ip.length, other.ip.length);
        if (one.ip.data != nullptr) {
            ASSERT_EQ(one.ip.data - plain.frame().data + 2, other.ip.data - cooked.frame().data);
            ++found;
        }
    }
    EXPECT_GT(found, 1000U);
}

// Lengths of 0, of the header alone, of all, one more, and the most that can be said.
TEST(ParseBurst, lengths_that_ipv6_says_end_the_packet_or_do_not) {
    for (const std::uint8_t next : {std::uint8_t{17}, kProtoNoNext}) {
        for (const unsigned said : {0U, 1U, 7U, 8U, 9U, 17U, 18U, 0xFFFFU}) {
            Bytes bytes = build({.version = 6, .payload = test::counting(9)});
            bytes[14 + 6] = next;
            bytes[14 + 4] = static_cast<std::uint8_t>(said >> 8);
            bytes[14 + 5] = static_cast<std::uint8_t>(said);
            const ExactFrame exact(bytes);
            const Parsed parsed = parse_frame(Link::kEthernet, exact.frame());
            const unsigned there = 8 + 9;
            const bool offloaded = said == 0 && next != kProtoNoNext;
            ASSERT_EQ(parsed.found, Found::kIpv6);
            EXPECT_EQ(parsed.ip.length, 40 + (offloaded ? there : std::min(said, there))) << said;
        }
    }
}

}  // namespace
}  // namespace unecho::packet
