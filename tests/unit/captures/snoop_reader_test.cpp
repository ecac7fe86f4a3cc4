// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "captures/formats/capture_source.h"
#include "support/capture_builder.h"

namespace {

using namespace unecho;
using namespace unecho::test;

void append(CaptureBytes& to, std::uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        to.push_back(static_cast<std::uint8_t>(number >> shift));
    }
}

CaptureBytes snoop_header(std::uint32_t version = 2, std::uint32_t link_type = 4) {
    CaptureBytes out{'s', 'n', 'o', 'o', 'p', 0, 0, 0};
    append(out, version);
    append(out, link_type);
    return out;
}

// Append a record as RFC 1761 writes it, padded to a multiple of four bytes.
void append_record(CaptureBytes& to, std::uint32_t seconds, std::uint32_t microseconds,
                   const CaptureBytes& data, std::uint32_t wire_length) {
    const auto size = static_cast<std::uint32_t>(data.size());
    const std::uint32_t padded = (size + 3) / 4 * 4;
    append(to, wire_length);
    append(to, size);
    append(to, 24 + padded);
    append(to, 0);
    append(to, seconds);
    append(to, microseconds);
    to.insert(to.end(), data.begin(), data.end());
    to.insert(to.end(), padded - size, 0);
}

CaptureBytes snoop_sample(unsigned packets) {
    CaptureBytes out = snoop_header();
    for (unsigned i = 0; i < packets; ++i) {
        append_record(out, 1000 + i, i, sample_data(i, i * 7 % 23), i * 7 % 23 + i);
    }
    return out;
}

TEST(Snoop, packets_are_as_written) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, SIZE_MAX}) {
        const ReadCapture got = read_bytes(snoop_sample(30), 1U << 20U, piece);
        EXPECT_EQ(got.error, "");
        EXPECT_TRUE(got.warnings.empty());
        ASSERT_EQ(got.packets.size(), 30U);
        for (unsigned i = 0; i < 30; ++i) {
            EXPECT_EQ(got.packets[i].time, (1000 + i) * kSecond + i * kMicrosecond);
            EXPECT_EQ(got.packets[i].data, sample_data(i, i * 7 % 23));
            EXPECT_EQ(got.packets[i].wire_length, i * 7 % 23 + i);
            EXPECT_EQ(got.packets[i].number, i + 1);
        }
        ASSERT_EQ(got.interfaces.size(), 1U);
        EXPECT_EQ(got.interfaces[0].link_type, 1);
        EXPECT_EQ(got.interfaces[0].tick, kMicrosecond);
    }
}

TEST(Snoop, other_versions_and_link_types_are_refused_by_name) {
    EXPECT_NE(read_bytes(snoop_header(3)).error.find("snoop of version 3, which is not known"),
              std::string::npos);
    EXPECT_NE(read_bytes(snoop_header(2, 18)).error.find("snoop of datalink type 18"),
              std::string::npos);
    EXPECT_EQ(read_bytes(snoop_header(2, 8)).interfaces[0].link_type, 10);
    const std::string text = "snooker, a game";
    EXPECT_NE(read_bytes({text.begin(), text.end()}).error.find("too short"), std::string::npos);
    const std::string longer = text + " of many players";
    EXPECT_NE(read_bytes({longer.begin(), longer.end()}).error.find("the text \"snooker"),
              std::string::npos);
}

TEST(Snoop, records_that_contradict_themselves_end_the_file) {
    for (const auto& [captured, size] :
         {std::pair{20U, 40U}, std::pair{0U, 23U}, std::pair{0U, 65U << 20U}}) {
        CaptureBytes bytes = snoop_sample(3);
        append(bytes, 60);
        append(bytes, captured);
        append(bytes, size);
        bytes.resize(bytes.size() + 200);
        const ReadCapture got = read_bytes(bytes);
        EXPECT_EQ(got.packets.size(), 3U);
        ASSERT_EQ(got.warnings.size(), 1U);
        EXPECT_TRUE(got.warnings[0].incomplete);
        // Nothing finds records behind damage, so --recover is not advised, and says so if given.
        EXPECT_EQ(got.warnings[0].text.find("--recover"), std::string::npos);
        const auto source = capture::open_capture_source(std::make_unique<MemoryStream>(bytes),
                                                         "capture", 1U << 20, true);
        ASSERT_TRUE(source);
        const ReadCapture searched = read_all(**source);
        ASSERT_EQ(searched.warnings.size(), 1U);
        EXPECT_NE(searched.warnings[0].text.find("--recover does not search snoop files"),
                  std::string::npos);
    }
}

TEST(Snoop, cut_short_is_told) {
    const CaptureBytes whole = snoop_sample(3);
    const ReadCapture record = read_bytes({whole.begin(), whole.end() - 3});
    EXPECT_EQ(record.packets.size(), 2U);
    ASSERT_EQ(record.warnings.size(), 1U);
    EXPECT_EQ(record.warnings[0].text, "record cut short");
    const ReadCapture header = read_bytes({whole.begin(), whole.begin() + 16 + 10});
    ASSERT_EQ(header.warnings.size(), 1U);
    EXPECT_EQ(header.warnings[0].text, "record header cut short");
}

TEST(Snoop, fractions_of_a_second_or_more_count_on) {
    CaptureBytes bytes = snoop_header();
    append_record(bytes, 10, 1'500'000, {1, 2, 3}, 3);
    const ReadCapture got = read_bytes(bytes);
    ASSERT_EQ(got.packets.size(), 1U);
    EXPECT_EQ(got.packets[0].time, 11 * kSecond + 500 * kMillisecond);
    EXPECT_EQ(got.warnings.size(), 1U);
}

}  // namespace
