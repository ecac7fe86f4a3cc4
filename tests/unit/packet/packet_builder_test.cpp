// SPDX-License-Identifier: BSD-3-Clause
// The frames that other tests use are what they claim: lengths, checksums, positions of fields.
#include "support/packet_builder.h"

#include <string_view>

#include <gtest/gtest.h>

namespace unecho::test {
namespace {

Bytes slice(const Bytes& bytes, std::size_t from, std::size_t to) {
    return {bytes.begin() + static_cast<std::ptrdiff_t>(from),
            bytes.begin() + static_cast<std::ptrdiff_t>(to)};
}

// A correct checksum leaves 0 over pseudo-header and segment (RFC 1071).
std::uint16_t pseudo_sum(const Bytes& ip, std::uint8_t protocol) {
    const bool v4 = ip[0] >> 4 == 4;
    const std::size_t header = v4 ? 20 : 40;
    Bytes sum = v4 ? slice(ip, 12, 20) : slice(ip, 8, 40);
    const std::size_t length = ip.size() - header;
    sum.insert(sum.end(), {0, 0, static_cast<std::uint8_t>(length >> 8),
                           static_cast<std::uint8_t>(length), 0, 0, 0, protocol});
    sum.insert(sum.end(), ip.begin() + static_cast<std::ptrdiff_t>(header), ip.end());
    return internet_checksum(sum);
}

TEST(PacketBuilder, transport_checksums_are_right_for_odd_and_even_payloads) {
    for (const unsigned version : {4U, 6U}) {
        for (const std::uint8_t protocol : {6, 17, 33, 58, 136}) {
            for (std::size_t n = 0; n < 5; ++n) {
                const PacketSpec spec{
                    .version = version, .protocol = protocol, .payload = counting(n)};
                EXPECT_EQ(pseudo_sum(build_ip(spec), protocol), 0) << version << " " << +protocol;
            }
        }
    }
}

TEST(PacketBuilder, ipv4_header_checksum_covers_options) {
    const Bytes ip = build_ip({.ttl = 3, .options = {1, 1, 1, 1, 1}, .payload = counting(4)});
    ASSERT_EQ(ip[0], 0x47);
    EXPECT_EQ(internet_checksum(slice(ip, 0, 28)), 0);
}

TEST(PacketBuilder, icmp_checksum_has_no_pseudo_header) {
    const Bytes ip = build_ip({.protocol = 1, .payload = counting(7)});
    EXPECT_EQ(internet_checksum(slice(ip, 20, ip.size())), 0);
}

TEST(PacketBuilder, sctp_carries_crc32c_lowest_byte_first) {
    constexpr std::string_view kCheck = "123456789";
    const Bytes check(kCheck.begin(), kCheck.end());
    EXPECT_EQ(crc32c(check), 0xE3069283);  // the catalogue's check value
    Bytes segment = build_ip({.protocol = 132, .payload = counting(9)});
    segment.erase(segment.begin(), segment.begin() + 20);
    const std::uint32_t sent =
        segment[8] | segment[9] << 8U | segment[10] << 16U | std::uint32_t{segment[11]} << 24U;
    std::fill(segment.begin() + 8, segment.begin() + 12, std::uint8_t{0});
    EXPECT_EQ(sent, crc32c(segment));
}

TEST(PacketBuilder, lengths_and_offsets_agree) {
    PacketSpec spec{.tags = {{0x88A8, 5}, {0x8100, 6}}, .labels = {17, 18}, .version = 6};
    spec.extensions = {options_extension(0, 1), fragment_extension(0, true),
                       authentication_extension(13)};
    spec.payload = counting(10);
    spec.trailer = {9, 9};
    const Bytes frame = build(spec);
    const std::size_t at = ip_offset(spec);
    ASSERT_EQ(at, 14U + 8 + 8);
    EXPECT_EQ(frame[at - 2] & 1, 1);      // bottom of the stack
    EXPECT_EQ(frame[at - 4 - 2] & 1, 0);  // the label above it
    EXPECT_EQ(frame[at] >> 4, 6);
    const std::size_t payload = frame[at + 4] * 256U + frame[at + 5];
    EXPECT_EQ(payload, 16U + 8 + 28 + 8 + 10);  // hop-by-hop, fragment, AH, UDP, payload
    EXPECT_EQ(frame.size(), at + 40 + payload + 2);
    EXPECT_EQ(slice(frame, at, frame.size() - 2), build_ip(spec));
}

TEST(PacketBuilder, short_frame_is_padded_to_60_bytes) {
    EXPECT_EQ(build({.pad = true}).size(), 60U);
    EXPECT_EQ(build({.payload = counting(100), .pad = true}).size(), 14U + 20 + 8 + 100);
}

}  // namespace
}  // namespace unecho::test
