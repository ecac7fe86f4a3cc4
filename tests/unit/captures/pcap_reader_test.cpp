// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "support/capture_builder.h"

namespace {

using namespace unecho;
using namespace unecho::test;

std::vector<PcapSpec> all_kinds() {
    std::vector<PcapSpec> out;
    for (const std::endian order : {std::endian::little, std::endian::big}) {
        out.push_back({.order = order});
        out.push_back({.order = order, .nanoseconds = true});
        out.push_back({.order = order, .modified = true});
    }
    return out;
}

// Return the packets of pcap_sample().
std::vector<ReadPacket> sample_packets(unsigned packets) {
    std::vector<ReadPacket> out;
    for (unsigned i = 0; i < packets; ++i) {
        ReadPacket packet;
        packet.time = 1000 * kSecond + i * kMillisecond;
        packet.data = sample_data(i, i * 7 % 23);
        packet.wire_length = static_cast<std::uint32_t>(packet.data.size() + i);
        packet.number = i + 1;
        out.push_back(packet);
    }
    return out;
}

TEST(Pcap, every_kind_gives_packets_as_written) {
    for (const PcapSpec& spec : all_kinds()) {
        const ReadCapture got = read_bytes(pcap_sample(spec, 30));
        EXPECT_EQ(got.error, "");
        EXPECT_EQ(got.packets, sample_packets(30)) << std::hex << spec.magic();
        EXPECT_TRUE(got.warnings.empty());
        ASSERT_EQ(got.interfaces.size(), 1U);
        EXPECT_EQ(got.interfaces[0].tick, spec.nanoseconds ? 1 : kMicrosecond);
        EXPECT_EQ(got.interfaces[0].link_type, 1);
        EXPECT_EQ(got.interfaces[0].snap_length, 262'144U);
    }
}

TEST(Pcap, no_packets_is_a_capture) {
    for (const PcapSpec& spec : all_kinds()) {
        const ReadCapture got = read_bytes(pcap_header(spec));
        EXPECT_EQ(got.error, "");
        EXPECT_TRUE(got.packets.empty());
        EXPECT_TRUE(got.warnings.empty());
        EXPECT_EQ(got.interfaces.size(), 1U);
    }
}

TEST(Pcap, link_type_with_check_sequence_bits_is_the_low_half) {
    for (const PcapSpec& kind : all_kinds()) {
        PcapSpec spec = kind;
        spec.link_type = 0x2400'0000 | 276;
        const ReadCapture got = read_bytes(pcap_header(spec));
        ASSERT_EQ(got.interfaces.size(), 1U);
        EXPECT_EQ(got.interfaces[0].link_type, 276);
    }
}

TEST(Pcap, fraction_beyond_a_second_counts_on) {
    for (const PcapSpec& spec : all_kinds()) {
        const ReadCapture got = read_bytes(
            pcap_header(spec) + pcap_record(spec, 0xFFFF'FFFF, 0xFFFF'FFFF, sample_data(1, 3), 3));
        ASSERT_EQ(got.packets.size(), 1U);
        const Nanoseconds unit = spec.nanoseconds ? 1 : kMicrosecond;
        EXPECT_EQ(got.packets[0].time, 0xFFFF'FFFF * kSecond + 0xFFFF'FFFF * unit);
        ASSERT_EQ(got.warnings.size(), 1U);
        EXPECT_EQ(got.warnings[0].text,
                  "time whose fraction is a second or more: counts on from there");
        EXPECT_EQ(got.warnings[0].number, 1U);
    }
}

TEST(Pcap, cut_anywhere_gives_the_records_before) {
    for (const PcapSpec& spec : all_kinds()) {
        const CaptureBytes whole = pcap_sample(spec, 4);
        const std::vector<ReadPacket> packets = sample_packets(4);
        const std::size_t header = spec.modified ? 24 : 16;
        for (std::size_t length = 24; length < whole.size(); ++length) {
            std::size_t records = 0;
            std::size_t end = 24;
            while (end + header <= length &&
                   end + header + packets[records].data.size() <= length) {
                end += header + packets[records++].data.size();
            }
            const CaptureBytes cut(whole.begin(), whole.begin() + static_cast<long>(length));
            const ReadCapture got = read_bytes(cut);
            EXPECT_EQ(got.error, "");
            EXPECT_EQ(got.packets, sample_packets(static_cast<unsigned>(records)));
            ASSERT_EQ(got.warnings.size(), end == length ? 0U : 1U) << length;
            if (end != length) {
                EXPECT_EQ(got.warnings[0].text,
                          length - end < header ? "record header cut short" : "record cut short");
                EXPECT_EQ(got.warnings[0].number, records + 1);
            }
        }
    }
}

TEST(Pcap, record_beyond_64_mib_ends_with_warning) {
    for (const PcapSpec& spec : all_kinds()) {
        const CaptureBytes good = pcap_sample(spec, 2);
        const CaptureBytes bad =
            ByteWriter(spec.order).u32(5).u32(5).u32((64U << 20) + 1).u32(60).zeros(100).done();
        const ReadCapture got = read_bytes(good + bad);
        EXPECT_EQ(got.packets, sample_packets(2));
        ASSERT_EQ(got.warnings.size(), 1U);
        EXPECT_EQ(got.warnings[0].text.substr(0, 26), "record of 67,108,865 bytes");
        EXPECT_EQ(got.warnings[0].number, 3U);
    }
}

// Like the output of `cat a.pcap b.pcap`, for any kind of second file.
TEST(Pcap, second_file_header_ends_with_warning) {
    for (const PcapSpec& first : all_kinds()) {
        for (const PcapSpec& second : all_kinds()) {
            const CaptureBytes good = pcap_sample(first, 2);
            const ReadCapture got = read_bytes(good + pcap_sample(second, 3));
            EXPECT_EQ(got.packets, sample_packets(2));
            ASSERT_EQ(got.warnings.size(), 1U);
            EXPECT_EQ(got.warnings[0].text.substr(0, 27), "a second file header, as ca");
            EXPECT_NE(got.warnings[0].text.find("--recover"), std::string::npos);
            EXPECT_EQ(got.warnings[0].number, 3U);
        }
    }
}

TEST(Pcap, time_that_is_a_magic_number_is_a_time) {
    const PcapSpec spec;
    const CaptureBytes record = pcap_record(spec, 0xA1B2C3D4, 0x00040002, sample_data(1, 60), 60);
    const ReadCapture got = read_bytes(pcap_header(spec) + record);
    EXPECT_EQ(got.packets.size(), 1U);
    EXPECT_TRUE(got.warnings.empty());
}

TEST(Pcap, record_of_64_mib_is_waited_for) {
    const CaptureBytes begun = ByteWriter(std::endian::little).u64(0).u32(64U << 20).u32(60).done();
    const ReadCapture got = read_bytes(pcap_header({}) + begun + sample_data(1, 100), 64);
    ASSERT_EQ(got.warnings.size(), 1U);
    EXPECT_EQ(got.warnings[0].text.substr(0, 16), "record cut short");
}

CaptureBytes with_version(CaptureBytes file, const PcapSpec& spec, std::uint16_t major,
                          std::uint16_t minor) {
    const CaptureBytes version = ByteWriter(spec.order).u16(major).u16(minor).done();
    std::copy(version.begin(), version.end(), file.begin() + 4);
    return file;
}

TEST(Pcap, lengths_of_old_versions_are_the_other_way_round) {
    for (const PcapSpec& spec : all_kinds()) {
        const CaptureBytes data = sample_data(1, 5);
        CaptureBytes turned = pcap_record(spec, 7, 0, data, 60);
        const CaptureBytes lengths = ByteWriter(spec.order).u32(60).u32(5).done();
        std::copy(lengths.begin(), lengths.end(), turned.begin() + 8);
        const CaptureBytes header = pcap_header(spec);
        const CaptureBytes old = header + turned + turned;
        const CaptureBytes mixed = header + turned + pcap_record(spec, 7, 0, data, 60);
        for (const auto& [major, minor, file] :
             {std::tuple{2, 0, old}, {2, 2, old}, {543, 0, old}, {2, 3, mixed}}) {
            const ReadCapture got = read_bytes(with_version(
                file, spec, static_cast<std::uint16_t>(major), static_cast<std::uint16_t>(minor)));
            ASSERT_EQ(got.packets.size(), 2U) << major << "." << minor << got.error;
            for (const ReadPacket& packet : got.packets) {
                EXPECT_EQ(packet.data, data);
                EXPECT_EQ(packet.wire_length, 60U);
            }
            EXPECT_TRUE(got.warnings.empty());
        }
    }
}

TEST(Pcap, other_versions_are_refused) {
    for (const PcapSpec& spec : all_kinds()) {
        for (const auto& [major, minor] : {std::pair{1, 0}, {2, 5}, {3, 0}, {543, 1}}) {
            const ReadCapture got = read_bytes(with_version(pcap_sample(spec, 2), spec,
                                                            static_cast<std::uint16_t>(major),
                                                            static_cast<std::uint16_t>(minor)));
            EXPECT_NE(
                got.error.find("version " + std::to_string(major) + "." + std::to_string(minor)),
                std::string::npos)
                << got.error;
            EXPECT_TRUE(got.packets.empty());
        }
    }
}

}  // namespace
