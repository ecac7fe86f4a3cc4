// SPDX-License-Identifier: BSD-3-Clause
// zstd and lz4, in and out.
#include "capture/unpack.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "capture/compressor.h"
#include "capture/input.h"
#include "support/capture_builder.h"
#include "unit/capture/folder.h"

namespace {

using namespace unecho;
using namespace unecho::test;
using capture::Compression;

constexpr Compression kBoth[] = {Compression::kZstd, Compression::kLz4};

// As the writer makes it, in pieces.
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

TEST(Unpack, what_the_writers_make_is_read) {
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

TEST(Unpack, any_buffer_and_piece_size_gives_the_same) {
    const CaptureBytes file = pcap_sample({}, 200);
    const CaptureBytes half(file.begin(), file.begin() + 1000);
    const CaptureBytes rest(file.begin() + 1000, file.end());
    const CaptureBytes skippable{0x53, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3};
    for (const Compression how : kBoth) {
        CaptureBytes frames = packed(how, half) + packed(how, {}) + skippable + packed(how, rest);
        if (how == Compression::kZstd) {
            frames = skippable + frames;
        }
        frames.resize(frames.size() + 33);  // zeros behind it
        for (const std::size_t buffer : {1U, 33U, 4096U}) {
            for (const std::size_t piece : {1U, 2U, 11U, 100'000U}) {
                const ReadCapture got = read_bytes(frames, buffer, piece);
                EXPECT_EQ(got.packets, read_bytes(file).packets) << buffer << " " << piece;
                EXPECT_TRUE(got.warnings.empty());
            }
        }
    }
}

TEST(Unpack, cut_anywhere_gives_packets_of_before_and_a_warning) {
    const CaptureBytes file = pcap_sample({}, 30);
    const std::vector<ReadPacket> all = read_bytes(file).packets;
    for (const Compression how : kBoth) {
        const CaptureBytes whole = packed(how, file);
        std::size_t before = 0;
        for (std::size_t length = 4; length < whole.size(); ++length) {
            const CaptureBytes cut(whole.begin(), whole.begin() + static_cast<long>(length));
            const ReadCapture got = read_bytes(cut, 64, 7);
            ASSERT_GE(got.packets.size(), before);
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
        EXPECT_EQ(before, all.size());
    }
}

TEST(Unpack, damage_is_told) {
    const CaptureBytes file = pcap_sample({}, 300);
    for (const Compression how : kBoth) {
        const CaptureBytes whole = packed(how, file);
        unsigned damaged = 0;
        for (std::size_t at = 0; at < whole.size(); at += 13) {
            CaptureBytes changed = whole;
            changed[at] ^= 0x10;
            const ReadCapture got = read_bytes(changed);
            if (got.error.empty() && got.warnings.empty()) {  // what means nothing to the data
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

TEST(Unpack, what_follows_is_ignored_aloud) {
    const CaptureBytes file = pcap_sample({}, 3);
    for (const Compression how : kBoth) {
        for (const CaptureBytes& behind : {CaptureBytes{1}, CaptureBytes{0, 0, 7}, file}) {
            const ReadCapture got = read_bytes(packed(how, file) + behind);
            EXPECT_EQ(got.packets, read_bytes(file).packets);
            ASSERT_EQ(got.warnings.size(), 1U);
            EXPECT_TRUE(
                got.warnings[0].text.starts_with("bytes behind the compressed data ignored: at "))
                << got.warnings[0].text;
            EXPECT_TRUE(got.warnings[0].incomplete);
        }
    }
}

TEST(Unpack, full_disks_are_told) {
    for (const Compression how : kBoth) {
        auto output = capture::Output::create("/dev/full");
        ASSERT_TRUE(output);
        const auto compressor = capture::make_compressor(how);
        const CaptureBytes bytes = pcap_sample({}, 3000);
        Status status = compressor->write(std::as_bytes(std::span(bytes)), **output);
        status = status ? compressor->finish(**output) : status;
        ASSERT_FALSE(status);
        EXPECT_EQ(status.error().code, Errc::kIo);
    }
}

}  // namespace
