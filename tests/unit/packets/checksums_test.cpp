// SPDX-License-Identifier: BSD-3-Clause
// Copies are one packet even if one was captured before its card filled in the checksum.
#include "packets/keys/checksums.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "digest_frame.h"
#include "packets/keys/cause.h"
#include "support/packet_builder.h"

namespace unecho::packet {
namespace {

using test::Bytes;
using test::PacketSpec;

constexpr KeySpec kFilled{.mode = KeyMode::kPacket, .checksums = Checksums::kFill};

struct ChecksumPlace {
    std::size_t message;  // offset of TCP, UDP or SCTP in the frame
    std::size_t field;    // offset of its checksum
    std::size_t size;
};

ChecksumPlace offset_of_checksum(const PacketSpec& spec) {
    std::size_t at = test::ip_offset(spec) + (spec.version == 4 ? 20 + spec.options.size() : 40);
    for (const test::Extension& one : spec.extensions) {
        at += one.rest.size() + 1;
    }
    return {at,
            at + (spec.protocol == 6    ? 16
                  : spec.protocol == 17 ? 6
                                        : 8),
            spec.protocol == 132 ? 4U : 2U};
}

// RFC 1071, word by word: the oracle shares no code with what it tests.
std::uint16_t pseudo_sum(const PacketSpec& spec, const Bytes& frame) {
    const std::size_t ip = test::ip_offset(spec);
    Bytes pseudo(frame.begin() + static_cast<long>(ip + (spec.version == 4 ? 12 : 8)),
                 frame.begin() + static_cast<long>(ip + (spec.version == 4 ? 20 : 40)));
    const std::size_t size =
        frame.size() - spec.trailer.size() - offset_of_checksum(spec).message;
    for (const std::size_t value :
         {size >> 8, size & 255, std::size_t{0}, std::size_t{spec.protocol}}) {
        pseudo.push_back(static_cast<std::uint8_t>(value));
    }
    return static_cast<std::uint16_t>(~test::internet_checksum(pseudo));
}

// Return the frame as captured before its card filled in the checksum.
Bytes partial(const PacketSpec& spec) {
    Bytes frame = test::build(spec);
    const ChecksumPlace place = offset_of_checksum(spec);
    const std::uint16_t sum = spec.protocol == 132 ? 0 : pseudo_sum(spec, frame);
    for (std::size_t i = 0; i < place.size; ++i) {
        frame[place.field + i] =
            static_cast<std::uint8_t>(i + 2 < place.size ? 0 : sum >> 8 * (place.size - 1 - i));
    }
    return frame;
}

std::vector<PacketSpec> transports() {
    std::vector<PacketSpec> out;
    for (const unsigned version : {4U, 6U}) {
        for (const std::uint8_t protocol : {6, 17, 132}) {
            for (const std::size_t bytes : {0U, 1U, 2U, 7U, 60U, 201U, 1460U, 8900U}) {
                PacketSpec spec{.version = version, .protocol = protocol};
                spec.payload = test::counting(bytes, static_cast<std::uint8_t>(bytes));
                out.push_back(spec);
                spec.trailer = {1, 2, 3};
                (version == 4 ? spec.options : spec.payload).resize(8, 1);
                if (version == 6) {
                    spec.extensions = {test::options_extension(60)};
                }
                out.push_back(spec);
            }
        }
    }
    return out;
}

// Return a digest that is equal for frames that are equal byte for byte.
Digest frame_digest_of(const Bytes& bytes) {
    const ExactFrame exact(bytes);
    const Frame frame = exact.frame();
    ParsedBurst parsed;
    parse_burst(LinkType::kEthernet, {&frame, 1}, parsed);
    const Digest packet = digest_of(kFilled, bytes);
    Digest digest = 0;
    digest_frames({&frame, 1}, parsed, &packet, test_secret(), &digest);
    return digest;
}

TEST(Checksums, partial_sums_count_as_what_the_card_will_send) {
    for (const PacketSpec& spec : transports()) {
        SCOPED_TRACE(testing::Message() << spec.version << " " << unsigned{spec.protocol} << " "
                                        << spec.payload.size() << " " << spec.trailer.size());
        const Bytes whole = test::build(spec);
        const Bytes early = partial(spec);
        ASSERT_NE(whole, early);
        EXPECT_EQ(digest_of(kFilled, early), digest_of(kFilled, whole));
        EXPECT_EQ(digest_of(kFilled, whole), digest_of(KeySpec{}, whole));
        EXPECT_NE(digest_of(KeySpec{}, early), digest_of(KeySpec{}, whole));
        EXPECT_NE(frame_digest_of(early), frame_digest_of(whole));
    }
}

// A packet damaged on its way is not equal to its retransmission.
TEST(Checksums, that_are_wrong_in_another_way_part_packets) {
    for (const PacketSpec& spec : transports()) {
        const ChecksumPlace place = offset_of_checksum(spec);
        std::set<Digest> seen{digest_of(kFilled, test::build(spec))};
        for (std::size_t bit = 0; bit < place.size * 8; ++bit) {
            Bytes damaged = partial(spec);
            damaged[place.field + bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
            EXPECT_TRUE(seen.insert(digest_of(kFilled, damaged)).second) << bit;
        }
        Bytes other = partial(spec);  // the payload counts as always
        other[place.message] ^= 1;
        EXPECT_TRUE(seen.insert(digest_of(kFilled, other)).second);
    }
}

TEST(Checksums, are_not_filled_in_where_not_all_of_it_was_captured) {
    const PacketSpec spec{.protocol = 6, .payload = test::counting(100)};
    const auto cut = [](Bytes frame) {
        frame.resize(80);
        return digest_of(kFilled, frame);
    };
    EXPECT_NE(cut(partial(spec)), cut(test::build(spec)));
    PacketSpec fragment = spec;
    fragment.more_fragments = true;
    EXPECT_NE(digest_of(kFilled, partial(fragment)), digest_of(kFilled, test::build(fragment)));
    // Segmentation offload: the header has no length.
    Bytes early = partial(spec);
    Bytes whole = test::build(spec);
    early[16] = whole[16] = early[17] = whole[17] = 0;
    EXPECT_NE(digest_of(kFilled, early), digest_of(kFilled, whole));
}

// The checksum is filled in although the key has only some bytes: all of them were captured.
TEST(Checksums, are_filled_in_where_few_bytes_count) {
    const PacketSpec spec{.protocol = 6, .payload = test::counting(100)};
    const auto digest = [](const Bytes& bytes) {
        const ExactFrame exact(bytes);
        const Frame frame = exact.frame();
        ParsedBurst parsed;
        parse_burst(LinkType::kEthernet, {&frame, 1}, parsed);
        cut_packets(parsed, 64);
        Digest out = 0;
        digest_burst(KeyMode::kPacket, {&frame, 1}, parsed, test_secret(), &out);
        fill_checksums({&frame, 1}, parsed, 1, test_secret(), &out);
        return out;
    };
    EXPECT_EQ(digest(partial(spec)), digest(test::build(spec)));
}

// A key that ends before the checksum does not cover it, so there is nothing to replace.
TEST(Checksums, behind_the_end_of_the_key_change_nothing) {
    for (const PacketSpec& spec : transports()) {
        const auto digest_and_bytes = [&](const Bytes& bytes, std::uint32_t kept) {
            const ExactFrame exact(bytes);
            const Frame frame = exact.frame();
            ParsedBurst parsed;
            parse_burst(LinkType::kEthernet, {&frame, 1}, parsed);
            cut_packets(parsed, kept);
            Digest digest = 0;
            digest_burst(KeyMode::kPacket, {&frame, 1}, parsed, test_secret(), &digest);
            const Digest before = digest;
            fill_checksums({&frame, 1}, parsed, 1, test_secret(), &digest);
            EXPECT_EQ(digest, before);
            Bytes out(100);
            out.resize(copy_key(kFilled, LinkType::kEthernet, frame, parsed.at(0),
                                TenantId(TenantSpace::kNone, 0), false, out));
            return std::pair(digest, out);
        };
        const auto field =
            static_cast<std::uint32_t>(offset_of_checksum(spec).field - test::ip_offset(spec));
        for (const std::uint32_t kept : {std::min(30U, field), field, field + 1}) {
            const auto whole = digest_and_bytes(test::build(spec), kept);
            const auto early = digest_and_bytes(partial(spec), kept);
            if (kept <= field) {
                EXPECT_EQ(early, whole) << kept;
            }
        }
    }
}

// RFC 768: a sum of 0 is sent as 0xFFFF, because 0 stands for no checksum.
TEST(Checksums, of_udp_whose_sum_is_0_are_filled_in_as_ffff) {
    PacketSpec spec{.payload = {0, 0}};
    const Bytes before = test::build(spec);
    spec.payload = {before[40], before[41]};  // RFC 1071: a sum that contains its checksum is 0
    EXPECT_EQ(test::build(spec)[40] << 8 | test::build(spec)[41], 0xFFFF);
    EXPECT_EQ(digest_of(kFilled, partial(spec)), digest_of(kFilled, test::build(spec)));
}

TEST(Checksums, of_udp_without_one_stays_none) {
    Bytes without = test::build({.payload = test::counting(20)});
    without[40] = without[41] = 0;
    EXPECT_NE(digest_of(kFilled, without),
              digest_of(kFilled, test::build({.payload = test::counting(20)})));
}

// The frames differ, and a report names the difference.
TEST(Checksums, that_are_partial_are_the_cause_of_a_copy) {
    for (const unsigned version : {4U, 6U}) {
        const PacketSpec spec{.version = version, .protocol = 6, .payload = test::counting(100)};
        const auto origin = [](const Bytes& bytes) {
            const ExactFrame exact(bytes);
            return frame_traits(LinkType::kEthernet, exact.frame(),
                                parse_frame(LinkType::kEthernet, exact.frame()), test_secret());
        };
        const FrameTraits early = origin(partial(spec));
        EXPECT_EQ(cause_of(differences_of(early, origin(test::build(spec)))), Cause::kChecksum);
        EXPECT_EQ(cause_of(differences_of(early, early)), Cause::kIdentical);
        PacketSpec routed = spec;
        routed.ttl -= 1;
        EXPECT_EQ(cause_of(differences_of(early, origin(test::build(routed)))), Cause::kHopLimit);
    }
}

TEST(Checksums, are_in_the_bytes_of_the_key) {
    for (const PacketSpec& spec : transports()) {
        const auto bytes = [](const Bytes& frame) {
            const ExactFrame exact(frame);
            Bytes out(10000);
            out.resize(copy_key(kFilled, LinkType::kEthernet, exact.frame(),
                                parse_frame(LinkType::kEthernet, exact.frame()),
                                TenantId(TenantSpace::kNone, 0), false, out));
            return out;
        };
        EXPECT_EQ(bytes(partial(spec)), bytes(test::build(spec)));
    }
}

}  // namespace
}  // namespace unecho::packet
