// SPDX-License-Identifier: BSD-3-Clause
// Compression and decompression with zstd and lz4; what holds of gzip, too.
#include "captures/compression/decompress_stream.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "captures/compression/compressor.h"
#include "captures/formats/capture_source.h"
#include "support/capture_builder.h"
#include "unit/captures/folder.h"

namespace {

using namespace unecho;
using namespace unecho::test;
using capture::Compression;

constexpr Compression kBoth[] = {Compression::kZstd, Compression::kLz4};

// Compress as the writer does, in pieces.
CaptureBytes packed(Compression how, const CaptureBytes& bytes, std::size_t piece = SIZE_MAX) {
    const capture::Folder folder;
    auto output = capture::Output::create(folder.file("packed"));
    EXPECT_TRUE(output);
    const auto compressor = capture::make_compressor(how);
    for (std::span<const std::uint8_t> rest = bytes; !rest.empty();) {
        const auto part = rest.first(std::min(piece, rest.size()));
        EXPECT_TRUE(compressor->write(std::as_bytes(part), **output));
        rest = rest.subspan(part.size());
    }
    EXPECT_TRUE(compressor->finish(**output));
    EXPECT_TRUE((*output)->close());
    const std::string text = folder.get("packed");
    return {text.begin(), text.end()};
}

TEST(DecompressStream, what_the_writers_make_is_read) {
    const CaptureBytes file = pcap_sample({}, 3000);
    const std::vector<ReadPacket> packets = read_bytes(file).packets;
    for (const Compression how : kBoth) {
        const CaptureBytes whole = packed(how, file);
        EXPECT_LT(whole.size(), file.size());
        for (const CaptureBytes& bytes : {whole, packed(how, file, 777)}) {
            const ReadCapture got = read_bytes(bytes);
            EXPECT_EQ(got.error, "");
            EXPECT_EQ(got.packets, packets);
            EXPECT_TRUE(got.warnings.empty());
        }
    }
}

using Packer = std::function<CaptureBytes(const CaptureBytes&)>;

// Return zstd and lz4, then gzip with and without fields in its header, compressed and stored.
std::vector<Packer> all_packers() {
    std::vector<Packer> out;
    for (const Compression how : kBoth) {
        out.emplace_back([how](const CaptureBytes& bytes) { return packed(how, bytes); });
    }
    for (const GzipSpec& spec : {GzipSpec{}, GzipSpec{.all_fields = true}, GzipSpec{.stored = true},
                                 GzipSpec{.all_fields = true, .stored = true}}) {
        out.emplace_back([spec](const CaptureBytes& bytes) { return gzip(bytes, spec); });
    }
    return out;
}

TEST(DecompressStream, any_buffer_and_piece_size_gives_the_same) {
    const CaptureBytes file = pcap_sample({}, 200);
    const CaptureBytes half(file.begin(), file.begin() + 1000);
    const CaptureBytes rest(file.begin() + 1000, file.end());
    const CaptureBytes skippable{0x53, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3};
    const std::vector<Packer> packers = all_packers();
    for (std::size_t i = 0; i < packers.size(); ++i) {
        const Packer& pack = packers[i];
        CaptureBytes frames =
            pack(half) + pack({}) + (i < 2 ? skippable : CaptureBytes()) + pack(rest);
        if (i == 0) {
            frames = skippable + frames;
        }
        frames.resize(frames.size() + 33);  // zeros after the frames
        for (const std::size_t buffer : {1U, 33U, 4096U}) {
            for (const std::size_t piece : {1U, 2U, 11U, 100'000U}) {
                const ReadCapture got = read_bytes(frames, buffer, piece);
                EXPECT_EQ(got.packets, read_bytes(file).packets) << i << buffer << " " << piece;
                EXPECT_TRUE(got.warnings.empty());
            }
        }
    }
}

// For a file cut at any length, the packets are those of its decompressed part. Their number grows
// with the length.
TEST(DecompressStream, cut_anywhere_gives_packets_of_before_and_a_warning) {
    const CaptureBytes file = pcap_sample({}, 30);
    const std::vector<ReadPacket> all = read_bytes(file).packets;
    for (const Packer& pack : all_packers()) {
        const CaptureBytes whole = pack(file);
        std::size_t before = 0;
        for (std::size_t length = 4; length < whole.size(); ++length) {
            const CaptureBytes cut(whole.begin(), whole.begin() + static_cast<long>(length));
            const ReadCapture got = read_bytes(cut, 64, 7);
            ASSERT_GE(got.packets.size(), before);
            ASSERT_LE(got.packets.size(), all.size());
            before = got.packets.size();
            EXPECT_TRUE(std::equal(got.packets.begin(), got.packets.end(), all.begin()));
            if (got.error.empty()) {
                ASSERT_EQ(got.warnings.size(), 1U) << length;
                EXPECT_EQ(got.warnings[0].text, "compressed data cut short");
                EXPECT_FALSE(got.warnings[0].incomplete);
            } else {
                EXPECT_EQ(before, 0U);
            }
        }
        EXPECT_EQ(before, all.size()) << "all is there before the checksum";
    }
}

TEST(DecompressStream, damage_is_told) {
    const CaptureBytes file = pcap_sample({}, 300);
    for (const Compression how : kBoth) {
        const CaptureBytes whole = packed(how, file);
        unsigned damaged = 0;
        for (std::size_t at = 0; at < whole.size(); at += 13) {
            CaptureBytes changed = whole;
            changed[at] ^= 0x10;
            const ReadCapture got = read_bytes(changed);
            if (got.error.empty() && got.warnings.empty()) {  // the data do not depend on it
                EXPECT_EQ(got.packets, read_bytes(file).packets);
            } else {
                ++damaged;
            }
        }
        EXPECT_GT(damaged, 10U);
        CaptureBytes wrong = whole;
        wrong.back() ^= 1;
        const ReadCapture got = read_bytes(wrong);
        EXPECT_EQ(got.packets, read_bytes(file).packets);
        ASSERT_EQ(got.warnings.size(), 1U);
        EXPECT_TRUE(got.warnings[0].text.starts_with("checksum of compressed data wrong"));
        EXPECT_TRUE(got.warnings[0].incomplete);
    }
}

TEST(DecompressStream, what_follows_is_ignored_aloud) {
    const CaptureBytes file = pcap_sample({}, 3);
    for (const Packer& pack : all_packers()) {
        for (const CaptureBytes& behind : {CaptureBytes{1}, CaptureBytes{0x1F},
                                           CaptureBytes{0x1F, 0x8C}, CaptureBytes{0, 0, 7}, file}) {
            for (const std::size_t piece : {1U, 100'000U}) {
                const ReadCapture got = read_bytes(pack(file) + behind, 4096, piece);
                EXPECT_EQ(got.packets, read_bytes(file).packets);
                ASSERT_EQ(got.warnings.size(), 1U);
                EXPECT_TRUE(
                    got.warnings[0].text.starts_with("bytes behind the compressed data ignored"))
                    << got.warnings[0].text;
                EXPECT_TRUE(got.warnings[0].incomplete);
            }
        }
    }
}

// Return an uncompressed frame with a window of this size.
CaptureBytes zstd_frame(unsigned window_bits, const CaptureBytes& bytes) {
    const auto window = static_cast<std::uint8_t>((window_bits - 10) << 3U);
    const auto size = static_cast<std::uint32_t>(bytes.size() << 3U | 1);
    return CaptureBytes{0x28, 0xB5, 0x2F, 0xFD, 0, window} +
           CaptureBytes{static_cast<std::uint8_t>(size), static_cast<std::uint8_t>(size >> 8U),
                        static_cast<std::uint8_t>(size >> 16U)} +
           bytes;
}

TEST(DecompressStream, windows_and_blocks_count_as_memory) {
    const CaptureBytes file = pcap_sample({}, 20);
    std::vector<std::byte> out(1U << 16U);
    for (const unsigned bits : {20U, 23U, 27U}) {
        const auto zstd = capture::make_zstd_stream(
            std::make_unique<MemoryStream>(zstd_frame(bits, file)), {}, std::size_t{16} << 10U);
        ASSERT_EQ(zstd->read(out).value_or(0), file.size());
        EXPECT_GT(zstd->memory(), std::uint64_t{1} << bits);
        EXPECT_LT(zstd->memory(), (std::uint64_t{1} << bits) + (std::uint64_t{1} << 19U));
    }
    const auto lz4 = capture::make_lz4_stream(
        std::make_unique<MemoryStream>(packed(Compression::kLz4, file)), {}, 1U << 14U);
    ASSERT_EQ(lz4->read(out).value_or(0), file.size());
    EXPECT_GT(lz4->memory(), std::uint64_t{1} << 17U);
    EXPECT_LT(lz4->memory(), std::uint64_t{9} << 20U);
}

TEST(DecompressStream, memory_that_is_not_there_is_told_with_what_is_enough) {
    constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
    const CaptureBytes file = pcap_sample({}, 20);
    const auto read = [&](std::uint64_t memory) {
        const auto budget = std::make_shared<capture::MemoryBudget>(memory, 20 * kMiB);
        const auto source = capture::open_capture_source(
            std::make_unique<MemoryStream>(zstd_frame(27, file)), "span.pcap.zst",
            {std::make_shared<capture::BufferPool>(capture::kMaxPiece), budget, false, nullptr});
        return source ? read_all(**source).error : source.error().context;
    };
    const std::string told = read(100 * kMiB);
    EXPECT_EQ(told.find("span.pcap.zst: needs 128."), 0U) << told;
    const std::size_t at = told.find("allowed here: --memory ") + 23;
    const auto enough = parse_size(told.substr(at, told.find(" or more") - at));
    ASSERT_TRUE(enough) << told;
    EXPECT_LT(*enough, 160 * kMiB);
    EXPECT_EQ(read(*enough), "");
    EXPECT_NE(read(*enough - 2 * kMiB), "");
}

}  // namespace
