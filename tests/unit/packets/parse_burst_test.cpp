// SPDX-License-Identifier: BSD-3-Clause
// The parse stage over bursts compared with single frames.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "digest_frame.h"
#include "support/link_frames.h"

namespace unecho::packet {
namespace {

using test::build;
using test::build_ip;
using test::Bytes;
using test::link_headers;
using test::operator+;

// Return a burst with arbitrary remains of an earlier one.
ParsedBurst used() {
    ParsedBurst parsed;
    parsed.ipv4 = parsed.ipv6 = parsed.non_ip = parsed.malformed = ~std::uint64_t{0};
    parsed.ip.fill({reinterpret_cast<const std::uint8_t*>(1), 1});
    return parsed;
}

std::uint64_t first(std::size_t n) {
    return n == 0 ? 0 : ~std::uint64_t{0} >> (64 - n);
}

// Return headers of the link type before packets of both versions, cut and changed at random.
std::vector<Bytes> frames_of(LinkType link, std::mt19937& random, unsigned count) {
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
        const auto link = static_cast<LinkType>(number);
        for (std::size_t n = 0; n <= kMaxBurst; n += link == LinkType::kEthernet ? 1 : 16) {
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

// Lengths of 0, of the header, of everything, of one byte more, and the largest value.
TEST(ParseBurst, lengths_that_ipv6_says_end_the_packet_or_do_not) {
    for (const std::uint8_t next : {std::uint8_t{17}, kProtoNoNext}) {
        for (const unsigned said : {0U, 1U, 7U, 8U, 9U, 17U, 18U, 0xFFFFU}) {
            Bytes bytes = build({.version = 6, .payload = test::counting(9)});
            bytes[14 + 6] = next;
            bytes[14 + 4] = static_cast<std::uint8_t>(said >> 8);
            bytes[14 + 5] = static_cast<std::uint8_t>(said);
            const ExactFrame exact(bytes);
            const Parsed parsed = parse_frame(LinkType::kEthernet, exact.frame());
            const unsigned there = 8 + 9;
            const bool offloaded = said == 0 && next != kProtoNoNext;
            ASSERT_EQ(parsed.found, L3Type::kIpv6);
            EXPECT_EQ(parsed.ip.length, 40 + (offloaded ? there : std::min(said, there))) << said;
        }
    }
}

}  // namespace
}  // namespace unecho::packet
