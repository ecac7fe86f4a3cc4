// SPDX-License-Identifier: BSD-3-Clause
#include "captures/selected_source.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "captures/formats/capture_source.h"
#include "support/capture_builder.h"

namespace {

using namespace unecho;
using namespace unecho::test;
using capture::Selection;

struct Given {
    std::vector<std::uint64_t> numbers;
    std::uint64_t left_out = 0;
    std::string error;
};

Given select(const CaptureBytes& file, const Selection& selection) {
    auto source =
        capture::open_capture_source(std::make_unique<MemoryStream>(file), "sample", 4096);
    EXPECT_TRUE(source);
    const auto left_out = std::make_shared<std::uint64_t>(0);
    auto selected = capture::select(std::move(*source), selection, left_out);
    if (!selected) {
        EXPECT_EQ(selected.error().code, Errc::kConfig);
        return {{}, 0, selected.error().context};
    }
    const ReadCapture got = read_all(**selected);
    Given out{{}, *left_out, got.error};
    for (const ReadPacket& packet : got.packets) {
        out.numbers.push_back(packet.number);
    }
    return out;
}

// Return an IPv4 packet of UDP or TCP.
CaptureBytes packet_of(std::uint8_t protocol) {
    CaptureBytes out(60);
    out[12] = 0x08;
    out[14] = 0x45;
    out[23] = protocol;
    return out;
}

CaptureBytes sample(std::uint32_t link_type = 1) {
    const PcapSpec spec{.link_type = link_type};
    CaptureBytes out = pcap_header(spec);
    for (std::uint32_t i = 0; i < 10; ++i) {
        const CaptureBytes ethernet = packet_of(i % 2 == 0 ? 17 : 6);
        const CaptureBytes raw(ethernet.begin() + 14, ethernet.end());
        out += pcap_record(spec, i, 0, link_type == 1 ? ethernet : raw, 60);
    }
    return out;
}

TEST(Select, a_time_range_begins_with_its_start_and_ends_before_its_stop) {
    using Numbers = std::vector<std::uint64_t>;
    EXPECT_EQ(select(sample(), {.start = 7 * kSecond}).numbers, (Numbers{8, 9, 10}));
    EXPECT_EQ(select(sample(), {.start = 7 * kSecond + 1}).numbers, (Numbers{9, 10}));
    EXPECT_EQ(select(sample(), {.stop = 2 * kSecond}).numbers, (Numbers{1, 2}));
    const Given both = select(sample(), {.start = 3 * kSecond, .stop = 5 * kSecond});
    EXPECT_EQ(both.numbers, (Numbers{4, 5}));
    EXPECT_EQ(both.left_out, 8U);
    EXPECT_EQ(select(sample(), {.stop = 0}).left_out, 10U);
}

TEST(Select, an_expression_is_compiled_for_the_link_type) {
    const std::vector<std::uint64_t> udp{1, 3, 5, 7, 9};
    for (const std::uint32_t link_type : {1U, 101U}) {
        const Given got = select(sample(link_type), {.filter = "udp"});
        EXPECT_EQ(got.numbers, udp) << link_type;
        EXPECT_EQ(got.left_out, 5U);
    }
    EXPECT_EQ(select(sample(), {.start = 5 * kSecond, .filter = "tcp"}).numbers,
              (std::vector<std::uint64_t>{6, 8, 10}));
}

TEST(Select, interfaces_that_come_later_get_their_program_then) {
    const CaptureBytes ethernet = packet_of(17);
    const CaptureBytes raw(ethernet.begin() + 14, ethernet.end());
    PcapngBuilder builder;
    builder.section().interface(1, 0).enhanced(0, 5, ethernet, 60);
    builder.interface(101, 0).enhanced(1, 6, raw, 46).enhanced(0, 7, packet_of(6), 60);
    EXPECT_EQ(select(builder.done(), {.filter = "udp"}).numbers,
              (std::vector<std::uint64_t>{1, 2}));
}

TEST(Select, a_wrong_expression_is_told_in_libpcaps_words) {
    const Given wrong = select(sample(), {.filter = "udp and"});
    EXPECT_TRUE(wrong.error.starts_with("--filter: ")) << wrong.error;
    EXPECT_NE(wrong.error.find("syntax error"), std::string::npos) << wrong.error;
    EXPECT_NE(wrong.error.find("link type 1)"), std::string::npos) << wrong.error;
    PcapngBuilder nothing;
    nothing.section();
    EXPECT_NE(select(nothing.done(), {.filter = "and"}).error, "");
    const Given late = select(sample(101), {.filter = "ether host 1:2:3:4:5:6"});
    EXPECT_NE(late.error.find("link type 101)"), std::string::npos) << late.error;
}

// Only Linux cooked captures have a direction: outgoing packets are of type 4.
TEST(Select, what_a_link_type_does_not_tell_is_refused) {
    for (const std::string filter : {"inbound", "outbound", "not inbound", "ifindex 1"}) {
        const Given got = select(sample(), {.filter = filter});
        EXPECT_NE(got.error.find("not supported on Ethernet"), std::string::npos) << got.error;
    }
    const PcapSpec spec{.link_type = 113};
    CaptureBytes cooked = pcap_header(spec);
    for (const std::uint8_t type : {0, 4, 3}) {
        CaptureBytes packet(16);
        packet[1] = type;
        cooked += pcap_record(spec, 1, 0, packet, 16);
    }
    EXPECT_EQ(select(cooked, {.filter = "outbound"}).numbers, (std::vector<std::uint64_t>{2}));
    EXPECT_EQ(select(cooked, {.filter = "inbound"}).numbers, (std::vector<std::uint64_t>{1, 3}));
}

}  // namespace
