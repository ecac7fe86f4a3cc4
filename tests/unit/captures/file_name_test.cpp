// SPDX-License-Identifier: BSD-3-Clause
#include "captures/file_name.h"

#include <string>

#include <gtest/gtest.h>

namespace unecho::capture {
namespace {

TEST(FileName, says_format_and_compression) {
    struct Case {
        const char* path;
        std::optional<FileFormat> format;
        Compression compression;
    };
    const Case cases[] = {
        {"a.pcap", FileFormat::kPcap, Compression::kNone},
        {"a.b/c.PCAPNG", FileFormat::kPcapng, Compression::kNone},
        {"/a/b.cap.Gz", FileFormat::kPcap, Compression::kGzip},
        {"b.pcapng.zst", FileFormat::kPcapng, Compression::kZstd},
        {"b.dmp.lz4", FileFormat::kPcap, Compression::kLz4},
        {"-", std::nullopt, Compression::kNone},
        {"/dev/stdout", std::nullopt, Compression::kNone},
        {"dir.pcap/trace", std::nullopt, Compression::kNone},
        {"dir.xz/trace.0", std::nullopt, Compression::kNone},
        {"trace.gz", std::nullopt, Compression::kGzip},
        {"pcap", std::nullopt, Compression::kNone},
    };
    for (const Case& one : cases) {
        const auto format = format_from_name(one.path);
        ASSERT_TRUE(format) << one.path;
        EXPECT_EQ(*format, one.format) << one.path;
        EXPECT_EQ(compression_from_name(one.path), one.compression) << one.path;
    }
}

TEST(FileName, what_is_not_written_is_refused) {
    for (const char* path : {"a.pcap.bz2", "a.XZ", "b/a.pcapng.zip", "a.tgz", "a.pcap.zstd",
                             "a.tar.gz", "a.zip.gz", "a.pcap.XZ.zst"}) {
        const auto compression = compression_from_name(path);
        ASSERT_FALSE(compression) << path;
        EXPECT_EQ(compression.error().context,
                  std::string(path) +
                      ": is not written so compressed; allowed: .gz, .zst, .lz4, "
                      "or none of them");
        EXPECT_FALSE(format_from_name(path)) << path;
    }
    for (const char* path : {"a.snoop", "a.erf.gz", "A.TXT", "x/a.csv.zst"}) {
        const auto format = format_from_name(path);
        ASSERT_FALSE(format) << path;
        EXPECT_EQ(format.error().code, Errc::kInvalidArgument);
        EXPECT_EQ(format.error().context,
                  std::string(path) +
                      ": such files are not written; allowed: .pcap, .pcapng, also "
                      ".gz, .zst, .lz4 of them");
        EXPECT_TRUE(compression_from_name(path)) << path;
    }
}

TEST(FileName, is_split_before_its_suffixes) {
    const std::string cases[][3] = {
        {"a.pcap", "a", ".pcap"},         {"d.e/a.b.pcapng.gz", "d.e/a.b", ".pcapng.gz"},
        {"d.e/a", "d.e/a", ""},           {"a.gz", "a", ".gz"},
        {"a.pcap.ZST", "a", ".pcap.ZST"}, {"./x", "./x", ""},
        {"a.lz4.pcap", "a.lz4", ".pcap"},
    };
    for (const auto& one : cases) {
        const NameParts parts = split_name(one[0]);
        EXPECT_EQ(parts.stem, one[1]) << one[0];
        EXPECT_EQ(parts.suffix, one[2]) << one[0];
    }
}

}  // namespace
}  // namespace unecho::capture
