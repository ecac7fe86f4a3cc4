// SPDX-License-Identifier: BSD-3-Clause
// Copies that no key finds, and when they are counted: behind a NAT, merged segments, tunnels on
// unusual ports.
#include "captures/analyze/tally/hidden_copies.h"

#include <limits>

#include <gtest/gtest.h>

#include "stream.h"

namespace unecho::analyze {
namespace {

using test::Bytes;
using test::PacketSpec;

HiddenCopyCounts counted_in(const Stream& stream, const Shard& shard = {}) {
    Collector collector(std::uint64_t{16} << 20, hash::secret_from_seed(1), {}, shard);
    const std::vector<capture::Interface> interfaces = [] {
        capture::Interface one;
        one.link_type = 1;
        return std::vector<capture::Interface>{one};
    }();
    collector.add(stream.records(), interfaces);
    return collector.views().hidden;
}

PacketSpec inside_of_nat(std::uint16_t id, std::uint8_t protocol) {
    PacketSpec spec;
    spec.id = id;
    spec.protocol = protocol;
    spec.payload = test::counting(40, static_cast<std::uint8_t>(id));
    return spec;
}

PacketSpec outside_of_nat(PacketSpec spec) {
    spec.source = 0xCB007107;
    spec.source_port = 40'000;
    --spec.ttl;
    return spec;
}

TEST(HiddenCopies, other_side_of_a_nat_is_counted) {
    for (const std::uint8_t protocol : {std::uint8_t{6}, std::uint8_t{17}}) {
        Stream stream;
        for (std::uint16_t id = 2; id < 22; ++id) {
            const PacketSpec spec = inside_of_nat(id, protocol);
            stream.add(id * kMillisecond, spec);
            stream.add(id * kMillisecond + 60 * kMicrosecond, outside_of_nat(spec));
        }
        const HiddenCopyCounts counts = counted_in(stream);
        EXPECT_EQ(counts.identified, 40U);
        EXPECT_EQ(counts.translated, 20U);
        EXPECT_EQ(counts.ttl_step, 1U);
    }
}

TEST(HiddenCopies, what_a_nat_does_not_explain_is_not_counted) {
    const PacketSpec first = inside_of_nat(7, 17);
    const auto translated = [&](const PacketSpec& second, Nanoseconds age) {
        Stream stream;
        stream.add(kSecond, first);
        stream.add(kSecond + age, second);
        return counted_in(stream).translated;
    };
    const PacketSpec outside = outside_of_nat(first);
    EXPECT_EQ(translated(outside, kMillisecond), 1U);
    EXPECT_EQ(translated(outside, 2 * kSecond), 0U);
    PacketSpec other = outside;
    other.id = 8;
    EXPECT_EQ(translated(other, kMillisecond), 0U);
    other = outside;
    other.payload[3] ^= 1U;
    EXPECT_EQ(translated(other, kMillisecond), 0U);
    other = outside;
    other.ttl = first.ttl;
    EXPECT_EQ(translated(other, kMillisecond), 0U);
    other = first;
    --other.ttl;  // a router that translates nothing
    EXPECT_EQ(translated(other, kMillisecond), 0U);
    other = outside;
    other.payload.pop_back();
    EXPECT_EQ(translated(other, kMillisecond), 0U);
}

Bytes segment_of(std::uint16_t id, std::uint32_t sequence, std::size_t length) {
    PacketSpec spec;
    spec.id = id;
    spec.protocol = 6;
    spec.payload = test::counting(length);
    Bytes frame = test::build(spec);
    const std::size_t at = test::ip_offset(spec) + 24;
    for (std::size_t i = 0; i < 4; ++i) {
        frame[at + i] = static_cast<std::uint8_t>(sequence >> (24 - 8 * i));
    }
    return frame;
}

TEST(HiddenCopies, merged_segment_is_counted_before_its_parts_and_behind_them) {
    constexpr std::uint32_t kPart = 100;
    for (const bool merged_first : {false, true}) {
        Stream stream;
        std::uint32_t sequence = std::numeric_limits<std::uint32_t>::max() - 5000;  // wraps round
        for (std::uint16_t group = 0; group < 20; ++group) {
            const Nanoseconds time = (group + 1) * 10 * kMillisecond;
            if (merged_first) {
                stream.add(time, segment_of(group, sequence, std::size_t{3} * kPart));
            }
            for (std::uint16_t part = 0; part < 3; ++part) {
                stream.add(time + (part + 1) * kMicrosecond,
                           segment_of(part, sequence + part * kPart, kPart));
            }
            if (!merged_first) {
                stream.add(time + 50 * kMicrosecond,
                           segment_of(group, sequence, std::size_t{3} * kPart));
            }
            sequence += 3 * kPart;
        }
        const HiddenCopyCounts counts = counted_in(stream);
        EXPECT_EQ(counts.segments, 80U);
        EXPECT_EQ(counts.merged, 20U);
        EXPECT_EQ(counts.merged_within, (merged_first ? 3 : 49) * kMicrosecond);
    }
}

TEST(HiddenCopies, retransmissions_are_no_merged_segments) {
    Stream stream;
    stream.add(kSecond, segment_of(1, 1000, 100));
    stream.add(kSecond + kMicrosecond, segment_of(2, 1100, 100));
    stream.add(kSecond + 2 * kMicrosecond, segment_of(3, 1000, 100));    // a repeat
    stream.add(kSecond + 3 * kMicrosecond, segment_of(4, 1100, 300));    // with more data
    stream.add(kSecond + 300 * kMillisecond, segment_of(5, 1000, 200));  // both parts, but late
    EXPECT_EQ(counted_in(stream).merged, 0U);
}

Bytes datagram(std::uint16_t port, const Bytes& header, const Bytes& inner) {
    PacketSpec spec;
    spec.destination_port = port;
    spec.payload = header;
    spec.payload.insert(spec.payload.end(), inner.begin(), inner.end());
    return test::build(spec);
}

TEST(HiddenCopies, tunnels_on_unusual_ports_are_named) {
    const PacketSpec inner = inside_of_nat(9, 17);
    const Bytes frame = test::build(inner);
    const Bytes packet = test::build_ip(inner);
    const auto size = static_cast<std::uint8_t>(packet.size());
    struct Case {
        UdpTunnel tunnel;
        std::uint16_t port;
        Bytes header;
        const Bytes& inside;
    };
    for (const Case& one : {Case{UdpTunnel::kVxlan, 5000, {8, 0, 0, 0, 0, 0, 42, 0}, frame},
                            Case{UdpTunnel::kGeneve, 5001, {0, 0, 0x65, 0x58, 0, 0, 42, 0}, frame},
                            Case{UdpTunnel::kTzsp, 5002, {1, 0, 0, 1, 1}, frame},
                            Case{UdpTunnel::kGtpU, 5003, {0x30, 255, 0, size, 0, 0, 0, 1}, packet},
                            Case{UdpTunnel::kCapwap, 5247, {0, 0x10, 0, 0, 0, 0, 0, 0}, frame}}) {
        Stream stream;
        stream.add(kSecond, datagram(one.port, one.header, one.inside));
        const HiddenCopyCounts counts = counted_in(stream);
        const std::uint32_t key = static_cast<std::uint32_t>(one.tunnel) << 16 | one.port;
        EXPECT_EQ(counts.tunnels, (std::map<std::uint32_t, std::uint64_t>{{key, 1}})) << one.port;
        EXPECT_TRUE(counts.valid());
    }
    // On the standard port the tunnel is opened. A payload that is no frame is no tunnel.
    Stream stream;
    stream.add(kSecond, datagram(4789, {8, 0, 0, 0, 0, 0, 42, 0}, frame));
    stream.add(kSecond, datagram(5000, {8, 0, 0, 0, 0, 0, 42, 0}, test::counting(60)));
    stream.add(kSecond, datagram(5000, {}, test::counting(60)));
    EXPECT_TRUE(counted_in(stream).tunnels.empty());
}

TEST(HiddenCopies, cut_packets_are_read_within_their_bytes) {
    const Bytes inner = test::build(inside_of_nat(9, 17));
    for (const Bytes& whole :
         {datagram(5000, {8, 0, 0, 0, 0, 0, 42, 0}, inner),
          datagram(5001, {0x3F, 0, 0x65, 0x58, 0, 0, 42, 0}, inner),
          datagram(5002, {1, 0, 0, 1, 40, 200}, {}),
          datagram(5003, {0x37, 255, 0, 40, 0, 0, 0, 1}, {}), segment_of(1, 1000, 40)}) {
        Stream stream;
        for (std::size_t length = 0; length <= whole.size(); ++length) {
            // Each in its own vector, so that a sanitizer sees reads beyond the end.
            stream.add(length, Bytes(whole.begin(), whole.begin() + static_cast<long>(length)));
        }
        EXPECT_EQ(counted_in(stream).empty, 1U);
    }
}

TEST(HiddenCopies, first_of_the_shards_counts_them) {
    Stream stream;
    for (std::uint16_t id = 2; id < 22; ++id) {
        const PacketSpec spec = inside_of_nat(id, 6);
        stream.add(id * kMillisecond, spec);
        stream.add(id * kMillisecond + 60 * kMicrosecond, outside_of_nat(spec));
    }
    HiddenCopyCounts all = counted_in(stream, {1, 2});
    EXPECT_EQ(counted_in(stream, {2, 2}).identified, 0U);
    all.add(counted_in(stream, {2, 2}));
    EXPECT_EQ(all.translated, counted_in(stream).translated);
    EXPECT_EQ(all.ttl_step, 1U);
}

TEST(HiddenCopies, a_part_of_a_long_capture_is_looked_at) {
    Stream stream;
    constexpr unsigned kAll = 8192;
    constexpr unsigned kMore = 327'680;
    for (unsigned i = 0; i < kAll + kMore; ++i) {
        const PacketSpec spec = inside_of_nat(static_cast<std::uint16_t>(2 + i / 2 % 60'000), 17);
        stream.add(i * kMicrosecond, i % 2 == 0 ? spec : outside_of_nat(spec));
    }
    const HiddenCopyCounts counts = counted_in(stream);
    EXPECT_EQ(counts.looked_at, kAll + kMore / 32);
    EXPECT_EQ(counts.identified, counts.looked_at);
    EXPECT_EQ(counts.translated, counts.identified / 2);
}

}  // namespace
}  // namespace unecho::analyze
