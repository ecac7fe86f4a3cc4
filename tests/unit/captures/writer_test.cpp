// SPDX-License-Identifier: BSD-3-Clause
#include "captures/output/writer.h"

#include <array>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "captures/open_captures.h"
#include "captures/output/output.h"
#include "support/capture_builder.h"
#include "unit/captures/child.h"
#include "unit/captures/folder.h"

namespace unecho::capture {
namespace {

constexpr std::uint16_t kEthernet = 1;
constexpr std::uint16_t kRaw = 101;
constexpr Nanoseconds kNanosecond = 1;
constexpr Nanoseconds kWriterTime = 1'700'000'000 * kSecond + 123'456'789;  // 0x6553f100 seconds

Interface interface(std::uint16_t link_type, Nanoseconds tick, std::uint32_t snap_length = 0xffff,
                    std::uint32_t file = 0, std::string name = {}) {
    return {.link_type = link_type,
            .snap_length = snap_length,
            .tick = tick,
            .file = file,
            .name = std::move(name)};
}

// The string belongs to the caller.
Record record(std::string_view data, Nanoseconds time, std::uint64_t number = 1,
              std::uint32_t interface = 0, std::uint32_t wire_length = 0) {
    const auto length = static_cast<std::uint32_t>(data.size());
    return {.time = time,
            .data = reinterpret_cast<const std::uint8_t*>(data.data()),
            .length = length,
            .wire_length = wire_length == 0 ? length : wire_length,
            .interface = interface,
            .number = number};
}

std::vector<std::uint64_t> all(std::size_t records) {
    return std::vector<std::uint64_t>((records + 63) / 64, ~std::uint64_t{0});
}

std::string from_hex(std::string_view hex) {
    std::string out;
    for (std::size_t i = 0; i < hex.size(); ++i) {
        if (hex[i] != ' ') {
            out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
            ++i;
        }
    }
    return out;
}

std::string to_hex(std::string_view bytes) {
    std::string out;
    for (const char byte : bytes) {
        char text[3];
        std::snprintf(text, sizeof(text), "%02x", static_cast<unsigned char>(byte));
        out += text;
    }
    return out;
}

// Return the written file's content, or the error.
std::string written_file(const Folder& folder, const std::string& name,
                         const std::vector<Record>& records,
                         const std::vector<Interface>& interfaces) {
    auto writer = create_capture(folder.file(name));
    if (!writer) {
        return writer.error().context;
    }
    if (const Status done = (*writer)->write(records, all(records.size()), interfaces); !done) {
        return done.error().context;
    }
    const Status closed = (*writer)->close();
    return closed ? folder.get(name) : closed.error().context;
}

// Packets of all lengths up to a limit, and one at the end that is larger than any buffer and
// hardly compresses.
struct Sample {
    std::vector<std::string> data;
    std::vector<Record> records;

    Sample(unsigned packets, std::size_t longest, std::size_t large) {
        std::mt19937 random(7);
        for (unsigned i = 0; i < packets; ++i) {
            data.emplace_back(random() % (longest + 1), static_cast<char>(i));
        }
        if (large != 0) {
            data.back().resize(large);
            for (char& byte : data.back()) {
                byte = static_cast<char>(random());
            }
        }
        for (unsigned i = 0; i < packets; ++i) {
            records.push_back(record(data[i], kWriterTime + i * kMicrosecond, i + 1));
        }
    }
};

TEST(PcapWriter, microseconds_byte_by_byte) {
    const Folder folder;
    EXPECT_EQ(to_hex(written_file(folder, "out.pcap", {record("abcde", kWriterTime, 1, 0, 1500)},
                                  {interface(kEthernet, kMicrosecond, 0x1234)})),
              to_hex(from_hex("d4c3b2a1 0200 0400 00000000 00000000 34120000 01000000"
                              "00f15365 40e20100 05000000 dc050000 6162636465")));
}

TEST(PcapWriter, nanoseconds_byte_by_byte) {
    const Folder folder;
    EXPECT_EQ(to_hex(written_file(folder, "out.pcap",
                                  {record("ab", kWriterTime), record("", kWriterTime + 1, 2)},
                                  {interface(kRaw, kNanosecond, 96)})),
              to_hex(from_hex("4d3cb2a1 0200 0400 00000000 00000000 60000000 65000000"
                              "00f15365 15cd5b07 02000000 02000000 6162"
                              "00f15365 16cd5b07 00000000 00000000")));
}

TEST(PcapWriter, snap_length_not_limited_is_that_of_libpcap) {
    const Folder folder;
    EXPECT_EQ(to_hex(written_file(folder, "out.pcap", {}, {interface(kRaw, kMicrosecond, 0)})),
              to_hex(from_hex("d4c3b2a1 0200 0400 00000000 00000000 00000400 65000000")));
}

TEST(PcapWriter, empty_capture_is_that_of_the_first_interface) {
    const Folder folder;
    EXPECT_EQ(
        to_hex(written_file(folder, "out.pcap", {},
                            {interface(kRaw, kNanosecond, 96), interface(9, kMicrosecond, 128)})),
        to_hex(from_hex("4d3cb2a1 0200 0400 00000000 00000000 80000000 65000000")));
    EXPECT_EQ(to_hex(written_file(folder, "none.pcap", {}, {})),
              to_hex(from_hex("d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000")));
}

TEST(PcapWriter, keep_bits_choose_the_records) {
    const Folder folder;
    const Sample sample(130, 3, 0);
    const std::vector<std::uint64_t> keep{0x8000000000000001, 0x2, ~std::uint64_t{0} << 1U};
    const std::vector<Interface> interfaces{interface(kEthernet, kMicrosecond)};
    auto writer = create_capture(folder.file("some.pcap"));
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->write(sample.records, keep, interfaces));
    ASSERT_TRUE((*writer)->close());
    const std::vector<Record> kept{sample.records[0], sample.records[63], sample.records[65],
                                   sample.records[129]};
    EXPECT_EQ(folder.get("some.pcap"), written_file(folder, "kept.pcap", kept, interfaces));
}

TEST(PcapWriter, times_beyond_32_bits_are_counted) {
    const Folder folder;
    const std::vector<Interface> interfaces{interface(kEthernet, kMicrosecond)};
    const Nanoseconds last = 0xffffffff * kSecond;
    const std::vector<Record> records{record("a", last, 7), record("a", last + kSecond, 8),
                                      record("a", last + 2 * kSecond, 9)};
    auto writer = create_capture(folder.file("out.pcap"));
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->write(records, all(3), interfaces));
    ASSERT_EQ((*writer)->warnings().size(), 1U);
    const Warning warning = (*writer)->warnings()[0];
    EXPECT_EQ(warning.number, 8U);
    EXPECT_EQ(warning.times, 2U);
    EXPECT_EQ(warning.text, "time beyond 2106, the last year of pcap: written modulo 2^32 seconds");
    ASSERT_TRUE((*writer)->close());
    const std::string file = folder.get("out.pcap");
    EXPECT_EQ(to_hex(file.substr(24, 4)), "ffffffff");
    EXPECT_EQ(to_hex(file.substr(24 + 17, 4)), "00000000");
    EXPECT_EQ(to_hex(file.substr(24 + 34, 4)), "01000000");
}

TEST(PcapWriter, precision_is_the_finest_known_at_the_first_record) {
    const Folder folder;
    const std::vector<Interface> both{interface(kEthernet, kMicrosecond),
                                      interface(kEthernet, kNanosecond, 0xffff, 1)};
    const std::string file = written_file(folder, "out.pcap", {record("a", kWriterTime)}, both);
    EXPECT_EQ(to_hex(file.substr(0, 4)), "4d3cb2a1");
    // 2^-10 s, a tick that pcapng can express.
    const std::string binary = written_file(folder, "binary.pcap", {record("a", 976'562)},
                                            {interface(kEthernet, 976'562)});
    EXPECT_EQ(to_hex(binary.substr(0, 4)), "4d3cb2a1");
    const std::string coarse = written_file(folder, "coarse.pcap", {record("a", kWriterTime)},
                                            {interface(kEthernet, kMillisecond)});
    EXPECT_EQ(to_hex(coarse.substr(0, 4)), "d4c3b2a1");
}

TEST(PcapWriter, finer_interface_met_later_is_cut_and_counted) {
    const Folder folder;
    std::vector<Interface> interfaces{interface(kEthernet, kMicrosecond)};
    auto writer = create_capture(folder.file("out.pcap"));
    ASSERT_TRUE(writer);
    const std::vector<Record> first{record("a", 5 * kMicrosecond)};
    ASSERT_TRUE((*writer)->write(first, all(1), interfaces));
    interfaces.push_back(interface(kEthernet, kNanosecond, 0xffff, 1));
    const std::vector<Record> later{record("a", 6 * kMicrosecond + 999, 4, 1)};
    ASSERT_TRUE((*writer)->write(later, all(1), interfaces));
    ASSERT_TRUE((*writer)->close());
    ASSERT_EQ((*writer)->warnings().size(), 1U);
    const Warning warning = (*writer)->warnings()[0];
    EXPECT_EQ(warning.file, 1U);
    EXPECT_EQ(warning.number, 4U);
    EXPECT_EQ(warning.text, "time finer than the microseconds of the output: cut off");
    EXPECT_EQ(to_hex(folder.get("out.pcap").substr(24 + 17 + 4, 4)), "06000000");
}

TEST(PcapWriter, larger_snap_length_met_later_is_written_into_the_header) {
    const Folder folder;
    std::vector<Interface> interfaces{interface(kEthernet, kMicrosecond, 96)};
    auto writer = create_capture(folder.file("out.pcap"));
    ASSERT_TRUE(writer);
    ASSERT_TRUE(
        (*writer)->write(std::vector<Record>{record("a", kWriterTime)}, all(1), interfaces));
    interfaces.push_back(interface(kEthernet, kMicrosecond, 0x1234, 1));
    ASSERT_TRUE(
        (*writer)->write(std::vector<Record>{record("a", kWriterTime, 1, 1)}, all(1), interfaces));
    ASSERT_TRUE((*writer)->close());
    EXPECT_EQ(to_hex(folder.get("out.pcap").substr(16, 4)), "34120000");
    EXPECT_EQ(folder.get("out.pcap").size(), 24U + 2 * 17);
}

TEST(PcapWriter, several_link_types_are_refused_and_pcapng_is_named) {
    const Folder folder;
    const std::vector<Interface> interfaces{interface(kEthernet, kMicrosecond),
                                            interface(kRaw, kMicrosecond)};
    auto writer = create_capture(folder.file("out.pcap"));
    ASSERT_TRUE(writer);
    const std::vector<Record> records{record("a", kWriterTime, 1), record("b", kWriterTime, 2, 1)};
    const Status done = (*writer)->write(records, all(2), interfaces);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::kUnsupported);
    EXPECT_EQ(done.error().context,
              "packet 2 has link type 101, those before it 1, and a pcap file takes one: name the "
              "output .pcapng, or give -F pcapng");
    writer->reset();
    EXPECT_TRUE(folder.names().empty());
    const std::vector<Interface> files{interface(kEthernet, kMicrosecond),
                                       interface(kRaw, kMicrosecond, 96, 1)};
    EXPECT_EQ(written_file(folder, "out.pcap", records, files).substr(0, 20),
              "packet 2 of input 2 ");
}

TEST(PcapWriter, link_type_of_packets_not_kept_does_not_matter) {
    const Folder folder;
    const std::vector<Interface> interfaces{interface(kEthernet, kMicrosecond),
                                            interface(kRaw, kMicrosecond)};
    auto writer = create_capture(folder.file("out.pcap"));
    ASSERT_TRUE(writer);
    const std::vector<Record> records{record("a", kWriterTime, 1), record("b", kWriterTime, 2, 1)};
    const std::vector<std::uint64_t> second{2};
    ASSERT_TRUE((*writer)->write(records, second, interfaces));
    ASSERT_TRUE((*writer)->close());
    EXPECT_EQ(to_hex(folder.get("out.pcap").substr(20, 4)), "65000000");
}

TEST(PcapngWriter, byte_by_byte) {
    const Folder folder;
    const std::vector<Interface> interfaces{interface(kRaw, kMicrosecond, 96),
                                            interface(kEthernet, kNanosecond, 0, 0, "eth7x"),
                                            interface(kRaw, kMillisecond, 128)};
    // The second interface occurs first and becomes number 0; the first never occurs.
    EXPECT_EQ(
        to_hex(written_file(
            folder, "out.pcapng",
            {record("abcde", kWriterTime, 1, 1, 1500), record("wxyz", kWriterTime, 2, 2)},
            interfaces)),
        to_hex(from_hex(
            "0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000"
            "01000000 2c000000 0100 0000 00000000 0200 0500 6574683778000000 0900 0100 09000000"
            "0000 0000 2c000000"
            // 1700000000123456789 = 0x17979cfe3d85cd15
            "06000000 28000000 00000000 fe9c9717 15cd853d 05000000 dc050000 6162636465000000"
            "28000000"
            "01000000 20000000 6500 0000 80000000 0900 0100 06000000 0000 0000 20000000"
            // 1700000000123456 = 0x60a2418202240
            "06000000 24000000 01000000 240a0600 40222018 04000000 04000000 7778797a 24000000")));
}

TEST(PcapngWriter, empty_capture_is_that_of_the_first_interface) {
    const Folder folder;
    const std::string section = "0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000";
    EXPECT_EQ(to_hex(written_file(folder, "out.pcapng", {}, {interface(kRaw, kNanosecond, 96)})),
              to_hex(from_hex(section +
                              "01000000 20000000 6500 0000 60000000 0900 0100 09000000 0000 0000"
                              "20000000")));
    EXPECT_EQ(to_hex(written_file(folder, "none.pcapng", {}, {})),
              to_hex(from_hex(section +
                              "01000000 20000000 0100 0000 00000000 0900 0100 06000000 0000 0000"
                              "20000000")));
}

// Data pass the buffer's end several times, and one packet is larger than the buffer.
TEST(Writers, large_captures_are_the_sum_of_their_packets) {
    const Folder folder;
    const Sample sample(300, 30000, 3'000'001);
    const std::vector<Interface> interfaces{interface(kEthernet, kMicrosecond)};
    for (const std::string name : {"out.pcap", "out.pcapng"}) {
        std::string expected = written_file(folder, "empty." + name, {}, interfaces);
        const std::size_t head = expected.size();
        for (const Record& each : sample.records) {
            expected += written_file(folder, "one." + name, {each}, interfaces).substr(head);
        }
        const std::string file = written_file(folder, name, sample.records, interfaces);
        EXPECT_EQ(file.size(), expected.size());
        EXPECT_TRUE(file == expected) << name;
    }
}

// The buffer is 128 KiB. The address sanitizer reports a byte too many.
TEST(Writers, packets_that_just_fill_the_buffer) {
    const Folder folder;
    const std::vector<Interface> interfaces{interface(kEthernet, kMicrosecond)};
    const std::string data((1U << 17U) + 4, 'x');
    for (const std::string name : {"out.pcap", "out.pcapng"}) {
        const std::size_t head = written_file(folder, name, {}, interfaces).size();
        const std::size_t around =
            written_file(folder, name, {record("", kWriterTime)}, interfaces).size();
        for (std::size_t less = 0; less < around + 8; ++less) {
            const std::string_view packet = std::string_view(data).substr(less);
            const std::string file = written_file(
                folder, name, {record(packet, kWriterTime), record("", kWriterTime)}, interfaces);
            EXPECT_EQ(file.size(),
                      head + 2 * (around - head) +
                          (name == "out.pcap" ? packet.size() : (packet.size() + 3) / 4 * 4));
        }
    }
}

TEST(Writers, bytes_are_those_of_the_file) {
    const Folder folder;
    const Sample sample(4096, 1500, 3'000'001);
    const std::vector<Interface> interfaces{interface(kEthernet, kMicrosecond)};
    for (const std::string name : {"out.pcap", "out.pcapng"}) {
        auto writer = create_capture(folder.file(name));
        ASSERT_TRUE(writer);
        ASSERT_TRUE((*writer)->write(sample.records, all(sample.records.size()), interfaces));
        const std::uint64_t bytes = (*writer)->bytes();
        ASSERT_TRUE((*writer)->close());
        EXPECT_EQ(bytes, folder.get(name).size());
    }
}

test::ReadCapture read_back(const std::string& path) {
    const auto source = open_capture(path);
    EXPECT_TRUE(source) << path;
    return source ? test::read_all(**source) : test::ReadCapture();
}

TEST(Writers, read_back_they_are_the_same) {
    const Folder folder;
    Sample sample(5000, 1500, 3'000'001);
    for (std::size_t i = 0; i < sample.records.size(); ++i) {
        sample.records[i].wire_length += static_cast<std::uint32_t>(i % 3);
    }
    for (const Nanoseconds tick : {kMicrosecond, kNanosecond}) {
        const std::vector<Interface> interfaces{interface(kRaw, tick, 4'000'000)};
        std::vector<test::ReadPacket> expected;
        for (const Record& each : sample.records) {
            expected.push_back({each.time / tick * tick,
                                each.wire_length,
                                0,
                                each.number,
                                {each.data, each.data + each.length}});
        }
        for (const char* name : {"out.pcap", "out.pcapng", "out.pcap.gz", "out.pcapng.gz"}) {
            written_file(folder, name, sample.records, interfaces);
            const test::ReadCapture back = read_back(folder.file(name));
            ASSERT_EQ(back.error, "") << name;
            EXPECT_TRUE(back.warnings.empty()) << name;
            EXPECT_TRUE(back.packets == expected) << name;
            ASSERT_EQ(back.interfaces.size(), 1U);
            EXPECT_EQ(back.interfaces[0].link_type, kRaw);
            EXPECT_EQ(back.interfaces[0].tick, tick);
            EXPECT_EQ(back.interfaces[0].snap_length, 4'000'000U);
        }
    }
}

TEST(Writers, read_back_pcapng_keeps_interfaces_apart) {
    const Folder folder;
    const std::vector<Interface> interfaces{interface(kRaw, kMicrosecond, 96, 0, "tap-a"),
                                            interface(kEthernet, kNanosecond, 0, 0, "not used"),
                                            interface(kEthernet, kNanosecond, 0, 1, "tap-b")};
    const Nanoseconds far = std::numeric_limits<Nanoseconds>::max();
    const std::vector<Record> records{record("abc", kWriterTime, 1, 2), record("de", far, 2, 0)};
    written_file(folder, "out.pcapng", records, interfaces);
    const test::ReadCapture back = read_back(folder.file("out.pcapng"));
    ASSERT_EQ(back.interfaces.size(), 2U);
    EXPECT_EQ(back.interfaces[0].name, "tap-b");
    EXPECT_EQ(back.interfaces[0].link_type, kEthernet);
    EXPECT_EQ(back.interfaces[1].name, "tap-a");
    EXPECT_EQ(back.interfaces[1].link_type, kRaw);
    const std::vector<test::ReadPacket> expected{
        {kWriterTime, 3, 0, 1, {'a', 'b', 'c'}},
        {far / kMicrosecond * kMicrosecond, 2, 1, 2, {'d', 'e'}}};
    EXPECT_EQ(back.packets, expected);
}

TEST(Writers, full_device_is_told_by_write_or_close) {
    const Sample large(4096, 1500, 3'000'001);
    const std::vector<Interface> interfaces{interface(kEthernet, kMicrosecond)};
    for (const std::size_t packets : {std::size_t{1}, large.records.size()}) {
        auto writer = create_capture("/dev/full");
        ASSERT_TRUE(writer);
        const std::span<const Record> records = std::span(large.records).first(packets);
        const Status done = (*writer)->write(records, all(packets), interfaces);
        const Status closed = (*writer)->close();
        const Status again = (*writer)->close();
        EXPECT_FALSE(done);  // a device is written to after each batch
        ASSERT_FALSE(closed);
        EXPECT_EQ(closed.error().context, "/dev/full: cannot be written: No space left on device");
        EXPECT_FALSE(again);
    }
}

TEST(Writers, terminal_is_refused) {
    const ChildEnd end = in_child([]() -> std::string {
        const int controller = ::posix_openpt(O_RDWR | O_NOCTTY);
        if (controller < 0 || ::grantpt(controller) != 0 || ::unlockpt(controller) != 0) {
            return "no terminal";
        }
        const int terminal = ::open(::ptsname(controller), O_RDWR | O_NOCTTY);
        if (terminal < 0 || ::dup2(terminal, STDOUT_FILENO) < 0) {
            return "no terminal";
        }
        const auto writer = create_capture("-");
        const bool text_may = Output::create("-").has_value();
        return (writer ? "taken" : writer.error().context) + (text_may ? "" : "; text too");
    });
    if (end.text == "no terminal") {
        GTEST_SKIP() << "no pseudo-terminal";
    }
    EXPECT_EQ(end.text, "standard output: is a terminal; a capture goes to a file or a pipe");
}

TEST(Writers, batches_go_through_a_pipe_as_they_come) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    auto writer = create_capture("/dev/fd/" + std::to_string(ends[1]));
    ASSERT_TRUE(writer);
    const std::vector<Interface> interfaces{interface(kEthernet, kMicrosecond)};
    ASSERT_TRUE(
        (*writer)->write(std::vector<Record>{record("abcd", kWriterTime)}, all(1), interfaces));
    std::array<char, 100> got{};
    EXPECT_EQ(::read(ends[0], got.data(), got.size()), 24 + 16 + 4);
    ASSERT_TRUE((*writer)->close());
    ::close(ends[0]);
    ::close(ends[1]);
}

}  // namespace
}  // namespace unecho::capture
