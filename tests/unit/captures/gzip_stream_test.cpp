// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compression/gzip_stream.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "captures/formats/capture_source.h"
#include "support/capture_builder.h"

namespace {

using namespace unecho;
using namespace unecho::test;

constexpr const char* kAllowed =
    "; allowed: pcap, pcapng and snoop, also compressed with gzip, zstd or lz4";

void expect_warning(const ReadCapture& got, const std::string& what) {
    ASSERT_EQ(got.warnings.size(), 1U);
    EXPECT_EQ(got.warnings[0].text.substr(0, what.size()), what);
}

std::vector<GzipSpec> all_specs() {
    return {{}, {.all_fields = true}, {.stored = true}, {.all_fields = true, .stored = true}};
}

TEST(GzipStream, capture_of_each_format_is_read) {
    const CaptureBytes pcap = pcap_sample({}, 3000);
    PcapngBuilder pcapng;
    pcapng.section().interface(1, 0).enhanced(0, 5, sample_data(1, 70'000), 70'000);
    for (const CaptureBytes& file : {pcap, pcapng.done()}) {
        for (const GzipSpec& spec : all_specs()) {
            const ReadCapture got = read_bytes(gzip(file, spec));
            EXPECT_EQ(got.error, "");
            EXPECT_EQ(got.packets, read_bytes(file).packets);
            EXPECT_TRUE(got.warnings.empty());
        }
    }
}

TEST(GzipStream, progress_counts_compressed_bytes) {
    const CaptureBytes packed = gzip(pcap_sample({}, 3000));
    const auto source =
        capture::open_capture_source(std::make_unique<MemoryStream>(packed, 100), "sample", 4096);
    ASSERT_TRUE(source);
    EXPECT_LT((*source)->progress().done, packed.size());
    EXPECT_EQ((*source)->progress().total, packed.size());
    read_all(**source);
    EXPECT_EQ((*source)->progress().done, packed.size());
}

TEST(GzipStream, stored_data_cut_anywhere_gives_exactly_what_is_there) {
    const CaptureBytes file = pcap_sample({}, 30);
    const CaptureBytes packed = gzip(file, {.stored = true});
    for (std::size_t length = 15 + 24; length < 15 + file.size(); ++length) {
        const ReadCapture got =
            read_bytes({packed.begin(), packed.begin() + static_cast<long>(length)});
        const ReadCapture plain =
            read_bytes({file.begin(), file.begin() + static_cast<long>(length - 15)});
        EXPECT_EQ(got.packets, plain.packets) << length;
    }
}

TEST(GzipStream, second_member_cut_anywhere_gives_the_first) {
    const CaptureBytes file = pcap_sample({}, 3);
    const CaptureBytes first = gzip(file);
    const CaptureBytes both =
        first + gzip(pcap_record({}, 2000, 2, sample_data(4, 9), 9), {.all_fields = true});
    for (std::size_t length = first.size() + 2; length < both.size(); ++length) {
        const ReadCapture got =
            read_bytes({both.begin(), both.begin() + static_cast<long>(length)});
        EXPECT_GE(got.packets.size(), 3U);
        expect_warning(got, "compressed data cut short");
    }
}

TEST(GzipStream, zeros_behind_are_taken_for_padding) {
    const CaptureBytes file = pcap_sample({}, 3);
    for (const std::size_t zeros : {1U, 511U, 600'000U}) {
        const ReadCapture got = read_bytes(gzip(file) + CaptureBytes(zeros));
        EXPECT_EQ(got.packets, read_bytes(file).packets);
        EXPECT_TRUE(got.warnings.empty());
    }
}

TEST(GzipStream, wrong_checksum_or_length_is_told_and_reading_goes_on) {
    const CaptureBytes file = pcap_sample({}, 3);
    const CaptureBytes good = gzip(file);
    for (std::size_t from_end = 1; from_end <= 8; ++from_end) {
        CaptureBytes bad = good;
        bad[bad.size() - from_end] ^= 1;
        const ReadCapture got =
            read_bytes(bad + gzip(pcap_record({}, 2000, 2, sample_data(4, 9), 9)));
        EXPECT_EQ(got.packets.size(), 4U);
        ASSERT_EQ(got.warnings.size(), 1U);
        expect_warning(got, "checksum of compressed data wrong");
    }
}

TEST(GzipStream, record_cut_where_the_checksum_is_wrong_is_told_too) {
    const CaptureBytes file = pcap_sample({}, 3);
    CaptureBytes bad = gzip({file.begin(), file.end() - 1});
    bad[bad.size() - 1] ^= 1;
    for (const std::size_t piece : {1U, 100'000U}) {
        const ReadCapture got = read_bytes(bad, 4096, piece);
        ASSERT_EQ(got.warnings.size(), 2U);
        EXPECT_EQ(got.warnings[0].text, "checksum of compressed data wrong");
        EXPECT_EQ(got.warnings[1].text, "record cut short");
    }
}

TEST(GzipStream, damaged_data_gives_the_same_in_any_pieces) {
    const CaptureBytes file = pcap_sample({}, 3000);
    CaptureBytes packed = gzip(file);
    for (const std::size_t at : {packed.size() / 3, packed.size() / 2, packed.size() - 100}) {
        CaptureBytes bad = packed;
        std::fill_n(bad.begin() + static_cast<long>(at), 64, 0xFF);
        const ReadCapture whole = read_bytes(bad);
        EXPECT_GT(whole.packets.size(), 0U);
        EXPECT_FALSE(whole.warnings.empty());
        for (const std::size_t buffer : {100U, 5000U, 100'000U}) {
            EXPECT_EQ(read_bytes(bad, buffer).packets, whole.packets);
        }
    }
}

// Damage a stored member: its block is no longer the last, and an invalid block follows.
void damage_behind(CaptureBytes& packed) {
    packed[10] = 0;
    packed[packed.size() - 8] = 0x07;
}

TEST(GzipStream, damage_within_a_record_is_told_as_such) {
    const CaptureBytes file = pcap_sample({}, 5);
    CaptureBytes packed = gzip({file.begin(), file.end() - 1}, {.stored = true});
    damage_behind(packed);
    for (const std::size_t buffer : {1U, 100U, 100'000U}) {
        const ReadCapture got = read_bytes(packed, buffer);
        EXPECT_EQ(got.packets.size(), 4U);
        expect_warning(got, "compressed data damaged");
    }
}

TEST(GzipStream, all_before_the_damage_is_given) {
    const CaptureBytes file = pcap_sample({}, 100);
    CaptureBytes packed = gzip(file, {.stored = true});
    damage_behind(packed);
    for (const std::size_t buffer : {1U, 100U, 100'000U}) {
        const ReadCapture got = read_bytes(packed, buffer);
        EXPECT_EQ(got.packets, read_bytes(file).packets);
        ASSERT_EQ(got.warnings.size(), 1U);
        expect_warning(got, "compressed data damaged");
        EXPECT_EQ(got.warnings[0].number, 100U);
    }
}

TEST(GzipStream, header_that_is_none_is_told) {
    CaptureBytes method = gzip(pcap_sample({}, 3));
    method[2] = 7;
    EXPECT_EQ(read_bytes(method).error, std::string("sample: compressed data damaged") + kAllowed);
    CaptureBytes checksum = gzip(pcap_sample({}, 3), {.all_fields = true});
    checksum[20] ^= 1;
    EXPECT_EQ(read_bytes(checksum).error,
              std::string("sample: compressed data damaged") + kAllowed);
}

TEST(GzipStream, no_capture_within_says_what_it_is) {
    EXPECT_EQ(read_bytes(gzip({})).error, std::string("sample: empty") + kAllowed);
    EXPECT_EQ(
        read_bytes(gzip({'t', 'e', 'x', 't', '!'})).error,
        std::string("sample: no capture: begins with 74 65 78 74, the text \"text!\"") + kAllowed);
    EXPECT_EQ(read_bytes(gzip(gzip(pcap_sample({}, 3)))).error,
              std::string("sample: no capture: begins with 1f 8b 08 00, a gzip file within a gzip "
                          "file") +
                  kAllowed);
}

}  // namespace
