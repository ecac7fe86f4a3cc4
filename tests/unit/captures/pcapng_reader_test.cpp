// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "captures/formats/capture_source.h"
#include "captures/merged_source.h"
#include "support/capture_builder.h"

namespace {

using namespace unecho;
using namespace unecho::test;

constexpr std::endian kOrders[] = {std::endian::little, std::endian::big};
constexpr std::uint64_t kMicroseconds = 1'700'000'000'123'456;
constexpr std::uint16_t kName = 2;
constexpr std::uint16_t kResolution = 9;
constexpr std::uint16_t kOffset = 14;

CaptureBytes text(const std::string& value) {
    return {value.begin(), value.end()};
}

void expect_warning(const ReadCapture& got, const std::string& what, std::uint64_t number) {
    ASSERT_EQ(got.warnings.size(), 1U);
    EXPECT_EQ(got.warnings[0].text.substr(0, what.size()), what);
    EXPECT_EQ(got.warnings[0].number, number);
}

// Two interfaces, then packets of each kind of block, and blocks without packets between them.
PcapngBuilder sample(std::endian order) {
    PcapngBuilder out(order);
    out.section()
        .interface(1, 65'535, {{kName, text("eth0")}, {0, {}}})
        .interface(113, 100, {{kResolution, {9}}})
        .enhanced(0, kMicroseconds, sample_data(0, 5), 60)
        .block(4, {0, 0, 0, 0})
        .enhanced(1, 1000 * kMicroseconds + 7, sample_data(1, 8), 8)
        .simple(sample_data(2, 11), 11)
        .block(0xBAD, sample_data(9, 13))
        .obsolete(1, 1000 * kMicroseconds + 9, sample_data(3, 2), 3)
        .enhanced(0, kMicroseconds + 1, {}, 0);
    return out;
}

// The custom block has a packet number too.
std::vector<ReadPacket> sample_packets() {
    return {
        {1000 * kMicroseconds, 60, 0, 1, sample_data(0, 5)},
        {1000 * kMicroseconds + 7, 8, 1, 2, sample_data(1, 8)},
        {1000 * kMicroseconds + 7, 11, 0, 3, sample_data(2, 11)},
        {1000 * kMicroseconds + 9, 3, 1, 5, sample_data(3, 2)},
        {1000 * (kMicroseconds + 1), 0, 0, 6, {}},
    };
}

TEST(Pcapng, every_block_with_a_packet_gives_it_as_written) {
    for (const std::endian order : kOrders) {
        const ReadCapture got = read_bytes(sample(order).done());
        EXPECT_EQ(got.error, "");
        EXPECT_EQ(got.packets, sample_packets());
        EXPECT_TRUE(got.warnings.empty());
        ASSERT_EQ(got.interfaces.size(), 2U);
        EXPECT_EQ(got.interfaces[0].link_type, 1);
        EXPECT_EQ(got.interfaces[0].snap_length, 65'535U);
        EXPECT_EQ(got.interfaces[0].tick, kMicrosecond);
        EXPECT_EQ(got.interfaces[0].name, "eth0");
        EXPECT_EQ(got.interfaces[1].link_type, 113);
        EXPECT_EQ(got.interfaces[1].snap_length, 100U);
        EXPECT_EQ(got.interfaces[1].tick, 1U);
        EXPECT_EQ(got.interfaces[1].name, "");
    }
}

TEST(Pcapng, cut_anywhere_gives_the_packets_before) {
    for (const std::endian order : kOrders) {
        const PcapngBuilder built = sample(order);
        const CaptureBytes& whole = built.done();
        const std::vector<std::size_t> borders = built.borders();
        // The number of packets in the first n blocks.
        const std::vector<std::size_t> packets{0, 0, 0, 0, 1, 1, 2, 3, 3, 4, 5};
        constexpr std::size_t kCustom = 7;
        for (std::size_t length = 4; length < whole.size(); ++length) {
            const auto next = std::upper_bound(borders.begin(), borders.end(), length);
            const auto blocks = static_cast<std::size_t>(next - borders.begin()) - 1;
            const std::size_t left = length - borders[blocks];
            const ReadCapture got =
                read_bytes({whole.begin(), whole.begin() + static_cast<long>(length)});
            EXPECT_EQ(got.error, "");
            std::vector<ReadPacket> expected = sample_packets();
            expected.resize(packets[blocks]);
            EXPECT_EQ(got.packets, expected) << length;
            if (left == 0) {
                EXPECT_TRUE(got.warnings.empty()) << length;
            } else {
                expect_warning(got, left < 8 ? "block header cut short" : "block cut short",
                               expected.size() + (blocks > kCustom ? 2 : 1));
            }
        }
    }
}

TEST(Pcapng, sections_have_their_own_order_and_interfaces) {
    for (const std::endian first : kOrders) {
        const std::endian second =
            first == std::endian::little ? std::endian::big : std::endian::little;
        PcapngBuilder built;
        built.section(first)
            .interface(1, 0)
            .interface(101, 0)
            .enhanced(1, 1, sample_data(0, 1), 1)
            .section(second)
            .interface(113, 4)
            .simple(sample_data(1, 8), 9)
            .enhanced(0, 2, sample_data(2, 2), 2)
            .enhanced(1, 3, sample_data(3, 3), 3);
        const ReadCapture got = read_bytes(built.done());
        const std::vector<ReadPacket> expected{
            {1000, 1, 1, 1, sample_data(0, 1)},
            {1000, 9, 2, 2, sample_data(1, 4)},
            {2000, 2, 2, 3, sample_data(2, 2)},
        };
        EXPECT_EQ(got.packets, expected);
        EXPECT_EQ(got.interfaces.size(), 3U);
        expect_warning(got, "packet of an unknown interface", 4);
    }
}

TEST(Pcapng, simple_packet_is_as_long_as_snap_length_and_block_allow) {
    const auto lengths = [](std::uint32_t snap, std::size_t data, std::uint32_t wire) {
        PcapngBuilder built;
        built.section().interface(1, snap).simple(sample_data(1, data), wire);
        const ReadCapture got = read_bytes(built.done());
        EXPECT_EQ(got.packets.size(), 1U);
        return got.packets.empty() ? SIZE_MAX : got.packets[0].data.size();
    };
    EXPECT_EQ(lengths(0, 5, 5), 5U);
    EXPECT_EQ(lengths(6, 8, 5), 5U);
    EXPECT_EQ(lengths(4, 8, 5), 4U);
    EXPECT_EQ(lengths(0, 8, 100), 8U);
    EXPECT_EQ(lengths(0, 5, 100), 8U) << "padding cannot be told from data";
}

// Return the time of a packet at an interface with these options, and the first warning.
std::pair<Nanoseconds, std::string> time_of(std::uint64_t units, std::uint8_t resolution,
                                            std::int64_t offset) {
    PcapngBuilder built(std::endian::big);
    built.section()
        .interface(1, 0, {{kResolution, {resolution}}, {kOffset, built.seconds(offset)}})
        .enhanced(0, units, {}, 0);
    const ReadCapture got = read_bytes(built.done());
    EXPECT_EQ(got.packets.size(), 1U);
    return {got.packets.empty() ? 0 : got.packets[0].time,
            got.warnings.empty() ? "" : got.warnings[0].text};
}

TEST(Pcapng, time_counts_in_units_from_the_offset) {
    const auto exact = [](std::uint64_t units, std::uint8_t resolution, std::int64_t offset) {
        const auto [time, warning] = time_of(units, resolution, offset);
        EXPECT_EQ(warning, "");
        return time;
    };
    EXPECT_EQ(exact(7, 0, 0), 7 * kSecond);
    EXPECT_EQ(exact(7, 3, 0), 7 * kMillisecond);
    EXPECT_EQ(exact(7, 6, 2), 2 * kSecond + 7 * kMicrosecond);
    EXPECT_EQ(exact(5 * kSecond, 9, -3), 2 * kSecond);
    EXPECT_EQ(exact(1999, 10, 0), 199U);
    EXPECT_EQ(exact(1'999'999, 12, 0), 1999U);
    EXPECT_EQ(exact(UINT64_MAX, 28, 0), 1U);
    EXPECT_EQ(exact(UINT64_MAX, 29, 0), 0U);
    EXPECT_EQ(exact(UINT64_MAX, 127, 5), 5 * kSecond);
    EXPECT_EQ(exact(3, 0x80, 0), 3 * kSecond);
    EXPECT_EQ(exact(3, 0x81, 0), 3 * kSecond / 2);
    EXPECT_EQ(exact(UINT64_MAX, 0x80 | 63, 0), 2 * kSecond - 1);
    EXPECT_EQ(exact(UINT64_MAX, 0x80 | 64, 0), kSecond - 1);
    EXPECT_EQ(exact(UINT64_MAX, 0xFF, 0), 0U);
}

TEST(Pcapng, time_that_cannot_be_held_is_clamped_and_told) {
    constexpr Nanoseconds kLast = std::numeric_limits<Nanoseconds>::max();
    const std::string early = "time before 1970 cannot be held: ages among such packets count as 0";
    const std::string late = "time after 2554 cannot be held: ages among such packets count as 0";
    EXPECT_EQ(time_of(kLast / 1000, 6, 0), std::pair(kLast / 1000 * 1000, std::string()));
    EXPECT_EQ(time_of(kLast / 1000 + 1, 6, 0), std::pair(kLast, late));
    EXPECT_EQ(time_of(UINT64_MAX, 9, 0), std::pair(kLast, std::string()));
    EXPECT_EQ(time_of(UINT64_MAX, 9, 1), std::pair(kLast, late));
    EXPECT_EQ(time_of(UINT64_MAX, 0, INT64_MAX), std::pair(kLast, late));
    EXPECT_EQ(time_of(kSecond, 9, -1), std::pair(Nanoseconds{0}, std::string()));
    EXPECT_EQ(time_of(kSecond - 1, 9, -1), std::pair(Nanoseconds{0}, early));
    EXPECT_EQ(time_of(0, 6, INT64_MIN), std::pair(Nanoseconds{0}, early));
    // Times below 0 by the offset alone, and beyond 64 bits before it is added.
    EXPECT_EQ(time_of(UINT64_MAX, 6, -18'446'744'073'709),
              std::pair(Nanoseconds{551'615'000}, std::string()));
}

TEST(Pcapng, tick_is_whole_nanoseconds) {
    const auto tick_of = [](std::uint8_t resolution) {
        PcapngBuilder built;
        built.section().interface(1, 0, {{kResolution, {resolution}}});
        const ReadCapture got = read_bytes(built.done());
        return got.interfaces.empty() ? 0 : got.interfaces[0].tick;
    };
    EXPECT_EQ(tick_of(0), kSecond);
    EXPECT_EQ(tick_of(6), kMicrosecond);
    EXPECT_EQ(tick_of(9), 1U);
    EXPECT_EQ(tick_of(12), 1U);
    EXPECT_EQ(tick_of(0x80), kSecond);
    EXPECT_EQ(tick_of(0x8A), kSecond >> 10);
    EXPECT_EQ(tick_of(0x80 | 30), 1U);
    EXPECT_EQ(tick_of(0xFF), 1U);
}

// Return the warnings about what an output of the packets would lack, after reading all.
std::vector<capture::Warning> losses_of(capture::Source& source) {
    capture::Batch batch;
    for (Result<bool> more = true; more && *more;) {
        more = source.next(batch);
    }
    return source.losses();
}

std::unique_ptr<capture::Source> opened(const PcapngBuilder& built) {
    return std::move(
        *capture::open_capture_source(std::make_unique<MemoryStream>(built.done()), "built"));
}

// An enhanced packet of 5 bytes, with these bytes behind its data.
CaptureBytes packet_with(const CaptureBytes& options) {
    CaptureBytes body(20);
    body[12] = body[16] = 5;
    return body + sample_data(0, 5) + CaptureBytes(3) + options;
}

TEST(Pcapng, options_of_packets_are_lost_and_told_once) {
    constexpr std::uint32_t kEnhanced = 6;
    PcapngBuilder built(std::endian::little);
    built.section().interface(1, 0, {{kName, text("eth0")}, {0, {}}});
    built.block(kEnhanced, packet_with({})).block(kEnhanced, packet_with({0, 0, 0, 0}));
    const auto none = opened(built);
    EXPECT_TRUE(losses_of(*none).empty());
    const CaptureBytes flags{2, 0, 4, 0, 1, 0, 0, 0};
    built.block(kEnhanced, packet_with(flags)).block(kEnhanced, packet_with(flags));
    const auto source = opened(built);
    const auto losses = losses_of(*source);
    ASSERT_EQ(losses.size(), 1U);
    EXPECT_EQ(losses[0].text, "comments, flags or other options of packets are not kept");
    EXPECT_EQ(losses[0].number, 3U);
    EXPECT_EQ(losses[0].times, 1U);
    EXPECT_TRUE(source->warnings().empty());
}

TEST(Pcapng, blocks_that_are_lost_are_told_with_their_file) {
    PcapngBuilder plain(std::endian::little);
    plain.section().interface(1, 0).block(5, CaptureBytes(12));
    PcapngBuilder rich(std::endian::big);
    rich.section().interface(1, 0).enhanced(0, 1, {}, 0);
    rich.block(10, CaptureBytes(8)).block(10, CaptureBytes(8)).block(4, CaptureBytes(4));
    std::vector<std::unique_ptr<capture::Source>> sources;
    sources.push_back(opened(plain));
    sources.push_back(opened(rich));
    const auto merged = capture::merge_sources(std::move(sources));
    const auto losses = losses_of(*merged);
    ASSERT_EQ(losses.size(), 2U);
    EXPECT_EQ(losses[0].text, "decryption secrets (a block of pcapng) are not kept");
    EXPECT_EQ(losses[1].text, "names of addresses (a block of pcapng) are not kept");
    EXPECT_EQ(losses[0].file, 1U);
    EXPECT_EQ(losses[1].file, 1U);
}

TEST(Pcapng, interface_name_is_readable) {
    const auto name_of = [](const std::string& name) {
        PcapngBuilder built;
        built.section().interface(1, 0, {{kName, text(name)}});
        const ReadCapture got = read_bytes(built.done());
        return got.interfaces.empty() ? "none" : got.interfaces[0].name;
    };
    EXPECT_EQ(name_of(std::string("eth0\0\0", 6)), "eth0");
    EXPECT_EQ(name_of("a\x1B[2J\x7F\n"), "a?[2J??");
    EXPECT_EQ(name_of("\xC2\xA0"), "\xC2\xA0");
    EXPECT_EQ(name_of(std::string(300, 'x')), std::string(256, 'x'));
}

TEST(Pcapng, option_cut_short_is_not_taken) {
    // The option's length exceeds the block.
    PcapngBuilder built;
    built.section()
        .block(1, ByteWriter(std::endian::little).u16(1).u16(0).u32(0).u16(9).u16(5).u32(3).done())
        .enhanced(0, 1, {}, 0);
    const ReadCapture got = read_bytes(built.done());
    ASSERT_EQ(got.packets.size(), 1U);
    EXPECT_EQ(got.packets[0].time, 1000U);
}

TEST(Pcapng, unknown_blocks_are_skipped_and_told) {
    PcapngBuilder built;
    built.section().interface(1, 0).block(0x1234, sample_data(1, 8)).enhanced(0, 1, {}, 0);
    built.block(0x1234, {}).block(0x8000'0001, {}).enhanced(0, 1, {}, 0);
    const ReadCapture got = read_bytes(built.done());
    EXPECT_EQ(got.packets.size(), 2U);
    ASSERT_EQ(got.warnings.size(), 2U);
    EXPECT_EQ(got.warnings[0].text, "block of unknown type 0x00001234 skipped");
    EXPECT_EQ(got.warnings[0].number, 0U);
    EXPECT_EQ(got.warnings[0].times, 2U);
    EXPECT_EQ(got.warnings[1].text, "block of unknown type 0x80000001 skipped");
    EXPECT_EQ(got.warnings[1].number, 1U);
}

TEST(Pcapng, many_unknown_types_are_told_as_one) {
    PcapngBuilder built;
    built.section();
    for (std::uint32_t type = 0; type < 1000; ++type) {
        built.block(0x5000 + type, {});
    }
    const ReadCapture got = read_bytes(built.done());
    ASSERT_EQ(got.warnings.size(), 17U);
    EXPECT_EQ(got.warnings[15].text, "block of unknown type 0x0000500f skipped");
    EXPECT_EQ(got.warnings[16].text, "blocks of further unknown types skipped");
    EXPECT_EQ(got.warnings[16].times, 984U);
}

// Read what `add` appends after one good packet.
ReadCapture after_a_packet(const std::function<void(PcapngBuilder&)>& add) {
    PcapngBuilder built;
    built.section().interface(1, 0).enhanced(0, 1, sample_data(1, 3), 3);
    add(built);
    built.enhanced(0, 2, {}, 0);
    ReadCapture got = read_bytes(built.done());
    EXPECT_EQ(got.error, "");
    return got;
}

void expect_end(const std::function<void(PcapngBuilder&)>& add, const std::string& what) {
    const ReadCapture got = after_a_packet(add);
    EXPECT_EQ(got.packets.size(), 1U) << what;
    expect_warning(got, what, 2);
    EXPECT_TRUE(got.warnings[0].incomplete);
}

TEST(Pcapng, contradictory_blocks_end_the_file_with_a_warning) {
    const auto numbers = [](std::uint32_t length) {
        return ByteWriter(std::endian::little).u32(0).u64(0).u32(length).u32(60).done();
    };
    expect_end([](auto& b) { b.raw(6, 11, sample_data(0, 32)); }, "block of 11 bytes");
    expect_end([](auto& b) { b.raw(6, (64U << 20) + 1, {}); }, "block of 67,108,865 bytes");
    expect_end([](auto& b) { b.raw(6, 64U << 20, {}); }, "block cut short");
    expect_end([](auto& b) { b.block(6, CaptureBytes(16)); }, "enhanced packet block too short");
    expect_end([](auto& b) { b.block(2, CaptureBytes(16)); }, "packet block too short");
    expect_end([](auto& b) { b.block(3, {}); }, "bad simple packet block");
    expect_end([](auto& b) { b.block(1, CaptureBytes(4)); }, "interface block too short");
    expect_end([](auto& b) { b.enhanced(1, 0, {}, 0); }, "packet of an unknown interface");
    expect_end([](auto& b) { b.obsolete(1, 0, {}, 0); }, "packet of an unknown interface");
    expect_end([&](auto& b) { b.block(6, numbers(1)); }, "packet longer than its block");
    expect_end([&](auto& b) { b.block(6, numbers(UINT32_MAX)); }, "packet longer than its block");
    expect_end([](auto& b) { b.section().simple({}, 0); }, "bad simple packet block");
    expect_end([](auto& b) { b.raw(0x0A0D0D0A, 28, sample_data(0, 20)); }, "bad byte-order magic");
    expect_end(
        [](auto& b) {
            b.raw(0x0A0D0D0A, (64U << 20) + 1, {0x4D, 0x3C, 0x2B, 0x1A});
        },
        "block of 67,108,865 bytes");
}

TEST(Pcapng, length_that_is_no_multiple_of_four_is_padded) {
    const ReadCapture got = after_a_packet([](PcapngBuilder& built) {
        built.raw(4, 13, CaptureBytes(1 + 3 + 4));
        built.raw(6, 35,
                  ByteWriter(std::endian::little)
                      .u32(0)
                      .u64(0)
                      .u32(3)
                      .u32(3)
                      .bytes(sample_data(2, 3))
                      .zeros(1)
                      .u32(35)
                      .done());
    });
    ASSERT_EQ(got.packets.size(), 3U);
    EXPECT_EQ(got.packets[1].data, sample_data(2, 3));
}

TEST(Pcapng, section_of_the_least_length_is_taken) {
    // 12 is too short for the byte-order magic, which is present all the same.
    for (const std::uint32_t length : {12U, 16U}) {
        const ReadCapture got = after_a_packet([&](PcapngBuilder& built) {
            built.raw(0x0A0D0D0A, length,
                      ByteWriter(std::endian::little).u32(0x1A2B3C4D).u32(length).done());
            built.interface(1, 0);
        });
        EXPECT_EQ(got.packets.size(), 2U);
    }
}

TEST(Pcapng, sections_of_other_versions_are_refused) {
    for (const std::endian order : {std::endian::little, std::endian::big}) {
        const auto file = [&](std::uint16_t major, std::uint16_t minor) {
            PcapngBuilder out(order);
            out.block(
                0x0A0D0D0A,
                ByteWriter(order).u32(0x1A2B3C4D).u16(major).u16(minor).u64(UINT64_MAX).done());
            return out.interface(1, 0).enhanced(0, 1, sample_data(0, 4), 4).done();
        };
        for (const auto& [major, minor] : {std::pair{0, 1}, {1, 1}, {1, 3}, {2, 0}}) {
            const CaptureBytes other =
                file(static_cast<std::uint16_t>(major), static_cast<std::uint16_t>(minor));
            const ReadCapture got = read_bytes(other);
            const std::string version =
                "version " + std::to_string(major) + "." + std::to_string(minor);
            EXPECT_NE(got.error.find(version), std::string::npos) << got.error;
            const ReadCapture later = read_bytes(file(1, 0) + other);
            EXPECT_EQ(later.packets.size(), 1U);
            ASSERT_EQ(later.warnings.size(), 1U);
            EXPECT_NE(later.warnings[0].text.find(version), std::string::npos);
        }
        EXPECT_EQ(read_bytes(file(1, 0) + file(1, 2)).packets.size(), 2U);
    }
}

}  // namespace
