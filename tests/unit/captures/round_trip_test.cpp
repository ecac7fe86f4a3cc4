// SPDX-License-Identifier: BSD-3-Clause
// A pcapng file is read with its blocks and written again. All options:
// tests/e2e/round_trip_test.py
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "captures/formats/capture_source.h"
#include "captures/formats/pcapng_blocks.h"
#include "captures/merged_source.h"
#include "captures/output/split_writer.h"
#include "captures/output/writer.h"
#include "captures/selected_source.h"
#include "support/capture_builder.h"
#include "unit/captures/folder.h"

namespace unecho::capture {
namespace {

using test::ByteWriter;
using test::CaptureBytes;
using test::MemoryStream;
using test::operator+;
using test::PcapngBuilder;
using test::sample_data;

constexpr std::endian kOrders[] = {std::endian::little, std::endian::big};

std::string text(const CaptureBytes& bytes) {
    return {bytes.begin(), bytes.end()};
}

// Changes to make: numbers of the packets to drop and to comment.
struct Wish {
    std::uint64_t drop = 0;     // 0: none
    std::uint64_t comment = 0;  // 0: none
};

void pass(Source& source, Writer& writer, const Wish& wish) {
    std::uint64_t number = 0;
    for (Batch batch; *source.next(batch);) {
        std::vector<std::uint64_t> keep(batch.records.size() / 64 + 1, ~std::uint64_t{0});
        std::vector<Comment> comments;
        for (std::size_t i = 0; i < batch.records.size(); ++i) {
            ++number;
            if (number == wish.drop) {
                keep[i / 64] &= ~(std::uint64_t{1} << i % 64);
            }
            if (number == wish.comment) {
                comments.push_back({i, "note"});
            }
        }
        const InterfaceView interfaces = source.interfaces();
        ASSERT_TRUE(writer.write(batch.records, keep, {interfaces.data(), interfaces.size()},
                                 {batch.blocks, comments}));
    }
}

std::unique_ptr<Source> opened(const CaptureBytes& bytes, std::size_t buffer = 1U << 16,
                               std::size_t piece = SIZE_MAX) {
    return std::move(
        *open_capture_source(std::make_unique<MemoryStream>(bytes, piece), "in", buffer));
}

// Return the output's bytes, followed by the text of a warning if there is one.
std::string through(Source& source, const Wish& wish = {}) {
    const Folder folder;
    auto writer = create_capture(folder.file("out.pcapng"));
    EXPECT_TRUE(writer && (*writer)->keeps_blocks());
    source.keep_blocks(true);
    pass(source, **writer, wish);
    EXPECT_TRUE((*writer)->close());
    std::string out = folder.get("out.pcapng");
    for (const Warning& warning : (*writer)->warnings()) {
        out += warning.text;
    }
    EXPECT_TRUE(source.losses().empty());
    return out;
}

PcapngBuilder sample(std::endian order) {
    PcapngBuilder out(order);
    out.section()
        .interface(1, 0, {{2, {'e', 't', 'h'}}, {3, {'t', 'a', 'p'}}})
        .block(10, CaptureBytes(8))
        .enhanced(0, 1'000'000, sample_data(0, 5), 60)
        .block(4, {0, 0, 0, 0})
        .interface(113, 100, {{9, {9}}})
        .obsolete(1, 1'000'000'009, sample_data(3, 2), 3)
        .block(0x8000'0001, sample_data(9, 13))
        .simple(sample_data(2, 12), 12)
        .block(5, CaptureBytes(12))
        .block(0x4000'0BAD, CaptureBytes(8));
    return out;
}

TEST(RoundTrip, nothing_dropped_is_the_same_whatever_the_pieces) {
    for (const std::endian order : kOrders) {
        PcapngBuilder built = sample(order);
        built.section(order == std::endian::big ? std::endian::little : std::endian::big)
            .interface(1, 0)
            .enhanced(0, 7, sample_data(1, 3), 3);
        for (const std::size_t buffer : {1U, 64U, 4096U}) {
            const auto source = opened(built.done(), buffer, buffer / 2 + 1);
            EXPECT_EQ(through(*source), text(built.done()));
        }
    }
}

TEST(RoundTrip, dropped_packet_takes_statistics_and_private_blocks_along) {
    for (const std::endian order : kOrders) {
        const PcapngBuilder built = sample(order);
        const std::vector<std::size_t> at = built.borders();
        const std::string whole = text(built.done());
        // Blocks 3, 6 and 8 are packets.
        EXPECT_EQ(
            through(*opened(built.done()), {.drop = 1}),
            whole.substr(0, at[3]) + whole.substr(at[4], at[9] - at[4]) +
                "interface statistics are left out: packets of their section are not in the output"
                "custom blocks or options that are not for a changed file are left out");
    }
}

TEST(RoundTrip, section_length_is_told_anew) {
    for (const std::endian order : kOrders) {
        const auto header = [&](std::uint64_t length) {
            PcapngBuilder out(order);
            out.block(0x0A0D0D0A,
                      ByteWriter(order).u32(0x1A2B3C4D).u16(1).u16(0).u64(length).done());
            return text(out.done());
        };
        PcapngBuilder rest(order);
        rest.interface(1, 0).enhanced(0, 1, sample_data(0, 4), 4).enhanced(0, 2, {}, 0);
        const std::string body = text(rest.done());
        const auto file = [&](std::uint64_t length) {
            const std::string both = header(length) + body;
            return CaptureBytes(both.begin(), both.end());
        };
        EXPECT_EQ(through(*opened(file(body.size()))), header(body.size()) + body);
        EXPECT_EQ(through(*opened(file(5))), header(5) + body) << "as it came, if it is wrong";
        EXPECT_EQ(through(*opened(file(body.size())), {.drop = 2}),
                  header(body.size() - 32) + body.substr(0, body.size() - 32));
    }
}

TEST(RoundTrip, comment_goes_before_the_options) {
    constexpr std::uint32_t kEnhanced = 6;
    for (const std::endian order : kOrders) {
        const auto packet = [&](const CaptureBytes& options) {
            return ByteWriter(order)
                .u32(0)
                .u64(0)
                .u32(3)
                .u32(9)
                .bytes(sample_data(0, 3))
                .zeros(1)
                .bytes(options)
                .done();
        };
        const CaptureBytes note =
            ByteWriter(order).u16(1).u16(4).bytes(CaptureBytes{'n', 'o', 't', 'e'}).done();
        const CaptureBytes flags = ByteWriter(order).u16(2).u16(4).u32(7).done();
        const CaptureBytes secret = ByteWriter(order).u16(19373).u16(4).u32(7).done();
        const CaptureBytes end(4);
        const auto file = [&](const CaptureBytes& first, const CaptureBytes& second) {
            PcapngBuilder out(order);
            out.section().interface(1, 0);
            out.block(kEnhanced, packet(first)).block(kEnhanced, packet(second));
            return out.done();
        };
        using test::operator+;
        EXPECT_EQ(through(*opened(file(flags + end, {})), {.comment = 1}),
                  text(file(note + flags + end, {})));
        EXPECT_EQ(through(*opened(file(flags, {})), {.comment = 2}), text(file(flags, note + end)));
        // Options that are not for a changed file are removed with the change.
        EXPECT_EQ(through(*opened(file(secret + end, secret + flags + end)), {.comment = 2}),
                  text(file(secret + end, note + flags + end)) +
                      "custom blocks or options that are not for a changed file are left out");
    }
}

TEST(RoundTrip, simple_packet_with_a_comment_becomes_an_enhanced_one_of_its_time) {
    for (const std::uint8_t resolution : {std::uint8_t{6}, std::uint8_t{9}, std::uint8_t{0x94}}) {
        PcapngBuilder built(std::endian::big);
        built.section()
            .interface(1, 0, {{9, {resolution}}, {14, built.seconds(1000)}})
            .enhanced(0, 123'456'789, sample_data(0, 5), 60)
            .simple(sample_data(2, 12), 12);
        const std::string out = through(*opened(built.done()), {.comment = 2});
        const test::ReadCapture before = test::read_bytes(built.done());
        const test::ReadCapture after = test::read_bytes({out.begin(), out.end()});
        EXPECT_EQ(after.packets, before.packets);
        EXPECT_NE(out, text(built.done()));
    }
}

TEST(RoundTrip, selection_leaves_out_its_packets_and_what_they_make_untrue) {
    for (const std::endian order : kOrders) {
        const PcapngBuilder built = sample(order);
        const std::vector<std::size_t> at = built.borders();
        const std::string whole = text(built.done());
        // Blocks 3, 6 and 8 are packets; the last has the time of the one before it.
        const Selection late{.start = kSecond + 1};
        const Selection early{.stop = kSecond + 1};
        const std::string lost =
            "interface statistics are left out: packets of their section are not in the output"
            "custom blocks or options that are not for a changed file are left out";
        for (const std::size_t buffer : {1U, 4096U}) {
            const auto left_out = std::make_shared<std::uint64_t>(0);
            EXPECT_EQ(
                through(**select(opened(built.done(), buffer, buffer / 2 + 1), late, left_out)),
                whole.substr(0, at[3]) + whole.substr(at[4], at[9] - at[4]) + lost);
            EXPECT_EQ(*left_out, 1U);
            EXPECT_EQ(
                through(**select(opened(built.done(), buffer, buffer / 2 + 1), early, left_out)),
                whole.substr(0, at[6]) + whole.substr(at[7], at[8] - at[7]) + lost);
            EXPECT_EQ(*left_out, 3U);
        }
    }
}

// The section ends with the file, so no later block reveals its length.
TEST(RoundTrip, selection_that_leaves_out_nothing_is_the_same) {
    for (const std::endian order : kOrders) {
        for (const std::size_t buffer : {1U, 64U, 4096U}) {
            const PcapngBuilder built = sample(order);
            const auto left_out = std::make_shared<std::uint64_t>(0);
            const auto selected = select(opened(built.done(), buffer, buffer / 2 + 1),
                                         {.start = 0, .stop = 3 * kSecond}, left_out);
            EXPECT_EQ(through(**selected), text(built.done()));
            EXPECT_EQ(*left_out, 0U);
        }
    }
}

TEST(RoundTrip, selection_tells_a_section_length_anew) {
    PcapngBuilder rest;
    rest.interface(1, 0).enhanced(0, 1, sample_data(0, 4), 4).enhanced(0, 2, {}, 0);
    const auto file = [](std::uint64_t length, const CaptureBytes& body) {
        PcapngBuilder out;
        out.block(0x0A0D0D0A,
                  ByteWriter(std::endian::little).u32(0x1A2B3C4D).u16(1).u16(0).u64(length).done());
        return out.done() + body;
    };
    const CaptureBytes less(rest.done().begin(), rest.done().end() - 32);
    const auto selected = select(opened(file(rest.done().size(), rest.done())),
                                 {.stop = 2 * kMicrosecond}, std::make_shared<std::uint64_t>(0));
    EXPECT_EQ(through(**selected), text(file(less.size(), less)));
}

class Parts : public testing::Test {
  protected:
    // Return the parts of so many packets each, joined, and the warnings.
    std::vector<std::string> split(Source& source, std::uint64_t packets, const Wish& wish = {}) {
        const Folder folder;
        const auto writer = make_split_writer(
            folder.file("out.pcapng"), {.packets = packets},
            [](const std::string& path) { return create_capture(path); }, true);
        EXPECT_TRUE(writer->keeps_blocks());
        source.keep_blocks(true);
        pass(source, *writer, wish);
        EXPECT_TRUE(writer->close());
        std::vector<std::string> out;
        for (const std::string& name : folder.names()) {
            out.push_back(folder.get(name));
        }
        for (const Warning& warning : writer->warnings()) {
            warnings += warning.text + "\n";
        }
        return out;
    }

    std::string warnings;
};

TEST_F(Parts, one_part_is_the_input) {
    for (const std::endian order : kOrders) {
        for (const std::size_t buffer : {1U, 4096U}) {
            PcapngBuilder built(order);
            built.section().interface(1, 0).block(10, CaptureBytes(8));
            const std::string first = text(built.done());
            const CaptureBytes file = built.done() + sample(order).done() + sample(order).done();
            const auto parts = split(*opened(file, buffer, buffer / 2 + 1), 6);
            EXPECT_EQ(parts, std::vector{text(file)});
            EXPECT_EQ(split(*opened(built.done()), 6), std::vector{first}) << "no packets";
        }
    }
    EXPECT_EQ(warnings, "");
}

TEST_F(Parts, each_has_what_came_before_and_lasts) {
    for (const std::endian order : kOrders) {
        const PcapngBuilder built = sample(order);
        const std::vector<std::size_t> at = built.borders();
        const std::string whole = text(built.done());
        const auto block = [&](std::size_t i) { return whole.substr(at[i], at[i + 1] - at[i]); };
        // Header, interface, secrets, packet | names, interface, packet | unknown, packet. The
        // statistics and a private block are dropped.
        const std::vector<std::string> expected{
            whole.substr(0, at[6]), whole.substr(0, at[3]) + whole.substr(at[4], at[8] - at[4]),
            whole.substr(0, at[3]) + block(4) + block(5) + block(8)};
        for (const std::size_t buffer : {1U, 4096U}) {
            EXPECT_EQ(split(*opened(built.done(), buffer, buffer / 2 + 1), 1), expected);
        }
    }
    EXPECT_NE(warnings.find("interface statistics are left out"), std::string::npos);
    EXPECT_NE(warnings.find("not for a changed file"), std::string::npos);
}

TEST_F(Parts, dropped_packet_before_the_first_part_counts) {
    const PcapngBuilder built = sample(std::endian::little);
    const std::vector<std::size_t> at = built.borders();
    const std::string whole = text(built.done());
    EXPECT_EQ(split(*opened(built.done()), 9, {.drop = 1}),
              std::vector{whole.substr(0, at[3]) + whole.substr(at[4], at[9] - at[4])});
    EXPECT_NE(warnings.find("interface statistics are left out"), std::string::npos);
}

TEST_F(Parts, new_section_begins_anew) {
    const std::string first = text(sample(std::endian::little).done());
    PcapngBuilder second(std::endian::big);
    second.section().interface(113, 7).enhanced(0, 5, sample_data(1, 3), 3);
    second.block(5, CaptureBytes(12));
    const std::string rest = text(second.done());
    const std::string both = first + rest;
    const auto parts = split(*opened({both.begin(), both.end()}), 3);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0], first + rest.substr(0, second.borders()[2]));
    EXPECT_EQ(parts[1], rest) << "its statistics are true";
    EXPECT_EQ(warnings, "");
}

TEST_F(Parts, merged_inputs_repeat_header_interfaces_names_and_secrets) {
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(opened(sample(std::endian::big).done()));
    sources.push_back(opened(sample(std::endian::little).done()));
    const auto merged = merge_sources(std::move(sources));
    const auto parts = split(*merged, 5);
    ASSERT_EQ(parts.size(), 2U);
    const auto blocks = [](const std::string& file) {
        const auto source = opened({file.begin(), file.end()});
        source->keep_blocks(true);
        std::map<std::uint32_t, int> counts;
        for (Batch batch; *source->next(batch);) {
            for (const Block& one : batch.blocks) {
                ++counts[one.type];
            }
        }
        return counts;
    };
    const auto last = blocks(parts[1]);
    EXPECT_EQ(last, (std::map<std::uint32_t, int>{{0x0A0D0D0A, 1}, {1, 4}, {4, 2}, {10, 2}}));
    EXPECT_NE(warnings.find("interface statistics are left out"), std::string::npos);
}

TEST_F(Parts, comments_go_with_their_packets) {
    const PcapngBuilder built = sample(std::endian::little);
    const auto parts = split(*opened(built.done()), 1, {.comment = 3});
    ASSERT_EQ(parts.size(), 3U);
    EXPECT_EQ(parts[0].find("note"), std::string::npos);
    EXPECT_EQ(parts[1].find("note"), std::string::npos);
    EXPECT_NE(parts[2].find("note"), std::string::npos);
}

TEST_F(Parts, repeat_so_much) {
    PcapngBuilder built;
    built.section().interface(1, 0);
    for (unsigned i = 0; i < 5; ++i) {
        built.block(10, CaptureBytes(1U << 20));
    }
    built.enhanced(0, 1, sample_data(0, 4), 4).enhanced(0, 2, sample_data(1, 4), 4);
    const auto parts = split(*opened(built.done()), 1);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_GT(parts[1].size(), 3U << 20);
    EXPECT_LT(parts[1].size(), 4U << 20);
    EXPECT_NE(warnings.find("more than 4 MiB"), std::string::npos);
}

// Byte orders and units differ, but the packets read are the same.
TEST(RoundTrip, several_inputs_become_one_section) {
    PcapngBuilder late(std::endian::big);
    late.section()
        .interface(101, 7, {{9, {9}}, {14, late.seconds(5)}})
        .enhanced(0, 3, sample_data(4, 4), 4)
        .simple(sample_data(5, 4), 4);
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(opened(late.done()));
    sources.push_back(opened(sample(std::endian::little).done(), 64, 9));
    const auto merged = merge_sources(std::move(sources));
    const std::string out = through(*merged);
    const test::ReadCapture got = test::read_bytes({out.begin(), out.end()});
    ASSERT_EQ(got.packets.size(), 5U);
    const std::vector<Nanoseconds> times{kSecond, kSecond + 9, kSecond + 9, 5 * kSecond + 3,
                                         5 * kSecond + 3};
    for (std::size_t i = 0; i < times.size(); ++i) {
        EXPECT_EQ(got.packets[i].time, i == 2 ? kSecond + kMicrosecond : times[i]) << i;
    }
    EXPECT_EQ(got.packets[4].data, sample_data(5, 4));
    ASSERT_EQ(got.interfaces.size(), 3U);
    EXPECT_EQ(got.interfaces[got.packets[3].interface].link_type, 101);
}

TEST(RoundTrip, blocks_without_packets_come_in_bounded_batches) {
    PcapngBuilder built;
    built.section();
    for (unsigned i = 0; i < 10'000; ++i) {
        built.block(0xBAD, CaptureBytes(4));
    }
    const auto source = opened(built.done());
    source->keep_blocks(true);
    std::size_t blocks = 0;
    for (Batch batch; *source->next(batch);) {
        EXPECT_LE(batch.blocks.size(), kMaxBatch);
        blocks += batch.blocks.size();
    }
    EXPECT_EQ(blocks, 10'001U);
    const auto plain = opened(built.done());
    Batch batch;
    EXPECT_FALSE(*plain->next(batch));
}

TEST(RoundTrip, units_are_the_inverse_of_times) {
    const auto units = [](Nanoseconds time, std::uint8_t resolution, std::int64_t offset) {
        return pcapng::to_interface_ticks(
            time, {.block = {}, .resolution = resolution, .offset_seconds = offset});
    };
    EXPECT_EQ(units(7 * kSecond, 0, 0), 7U);
    EXPECT_EQ(units(7 * kSecond + 1, 6, 5), 2'000'001U) << "rounded up";
    EXPECT_EQ(units(7, 9, -1), kSecond + 7);
    EXPECT_EQ(units(7, 12, 0), 7000U);
    EXPECT_EQ(units(3 * kSecond / 2, 0x81, 0), 3U);
    EXPECT_EQ(units(UINT64_MAX, 27, 0), UINT64_MAX) << "no more than fits";
    EXPECT_EQ(units(5, 9, 1), 0U) << "before the offset";
    EXPECT_EQ(units(5, 127, 0), 0U);
}

}  // namespace
}  // namespace unecho::capture
