// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compression/compression.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "captures/compression/compressor.h"
#include "folder.h"

namespace unecho::capture {
namespace {

using PlainBytes = std::vector<std::uint8_t>;

// Write a compressed file as the program does.
void write_compressed(Compression how, const std::string& path) {
    auto output = Output::create(path);
    ASSERT_TRUE(output);
    const auto compressor = make_compressor(how);
    ASSERT_NE(compressor, nullptr);
    const PlainBytes bytes(1000, 7);
    EXPECT_TRUE(compressor->write(std::as_bytes(std::span(bytes)), **output));
    EXPECT_TRUE(compressor->finish(**output));
    EXPECT_TRUE((*output)->close());
}

TEST(Compression, is_known_by_what_is_written_whatever_the_name) {
    const Folder folder;
    for (const CompressionInfo& info : kCompressionTable) {
        for (const char* name : {"a.pcap", "a.pcap.gz", "a.zst"}) {
            write_compressed(info.compression, folder.file(name));
            EXPECT_EQ(detect_compression(folder.file(name)), info.compression)
                << name << " as " << info.suffix;
        }
    }
}

TEST(Compression, a_name_alone_compresses_nothing) {
    const Folder folder;
    for (const char* content :
         {"", "\x1F", "\xD4\xC3\xB2\xA1 and so on", "\x28\xB5\x2F\xFC", "PK\x03\x04"}) {
        std::ofstream(folder.file("a.pcap.gz"), std::ios::binary) << content;
        EXPECT_EQ(detect_compression(folder.file("a.pcap.gz")), Compression::kNone) << content;
    }
}

TEST(Compression, begins_with_what_is_skipped_too) {
    EXPECT_EQ(detect_compression(PlainBytes{0x50, 0x2A, 0x4D, 0x18}), Compression::kZstd);
    EXPECT_EQ(detect_compression(PlainBytes{0x5F, 0x2A, 0x4D, 0x18, 1}), Compression::kZstd);
    EXPECT_EQ(detect_compression(PlainBytes{0x60, 0x2A, 0x4D, 0x18}), Compression::kNone);
    EXPECT_EQ(detect_compression(PlainBytes{0x50, 0x2A, 0x4D}), Compression::kNone);
}

TEST(Compression, is_asked_of_files_alone) {
    const Folder folder;
    ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
    for (const std::string& path :
         {folder.file("pipe"), folder.file("nothing"), folder.path(), std::string("-")}) {
        EXPECT_EQ(detect_compression(path), std::nullopt) << path;
    }
}

TEST(Compression, names_its_suffixes) {
    EXPECT_EQ(compression_suffixes(), ".gz, .zst, .lz4");
}

}  // namespace
}  // namespace unecho::capture
