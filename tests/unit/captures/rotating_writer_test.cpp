// SPDX-License-Identifier: BSD-3-Clause
#include "captures/output/rotating_writer.h"

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "captures/open_captures.h"
#include "support/capture_builder.h"
#include "unit/captures/folder.h"

namespace unecho::capture {
namespace {

constexpr Nanoseconds kStart = 1'600'000'000 * kSecond;  // 2020-09-13 12:26:40 UTC
constexpr std::uint32_t kLength = 84;                    // 100 bytes of a file with its header
constexpr std::uint64_t kHeader = 24;

class RotatingWriterTest : public testing::Test {
  protected:
    RotatingWriterTest() {
        ::setenv("TZ", "UTC", 1);
        ::tzset();
    }

    std::unique_ptr<Writer> open(const std::string& name, const Rotation& rotation) {
        auto writer = make_rotating_writer(
            folder.file(name), rotation,
            [](const std::string& path) { return create_capture(path); }, false, kStart, end);
        EXPECT_TRUE(writer->begin(kInterfaces));
        return writer;
    }

    // Write packets of these milliseconds since kStart. The first byte of each is its number, from
    // 0 on. Packets with an odd time are not kept.
    Status write(Writer& writer, const std::vector<Nanoseconds>& milliseconds) {
        std::vector<Record> records;
        std::vector<std::uint64_t> keep((milliseconds.size() + 63) / 64);
        for (std::size_t i = 0; i < milliseconds.size(); ++i) {
            data_.emplace_back(kLength, static_cast<std::uint8_t>(data_.size()));
            records.push_back({.time = kStart + milliseconds[i] * kMillisecond,
                               .data = data_.back().data(),
                               .length = kLength,
                               .wire_length = kLength,
                               .number = i + 1});
            keep[i / 64] |= std::uint64_t{milliseconds[i] % 2 == 0} << i % 64;
        }
        return writer.write(records, keep, kInterfaces, {});
    }

    // Return the numbers of the packets in each existing file.
    [[nodiscard]] std::map<std::string, std::vector<unsigned>> files() const {
        std::map<std::string, std::vector<unsigned>> out;
        for (const std::string& name : folder.names()) {
            const auto source = open_capture(folder.file(name));
            EXPECT_TRUE(source) << name;
            std::vector<unsigned>& numbers = out[name];
            for (const test::ReadPacket& packet : test::read_all(**source).packets) {
                numbers.push_back(packet.data[0]);
            }
        }
        return out;
    }

    static std::vector<Nanoseconds> times(Nanoseconds from, Nanoseconds to, Nanoseconds step = 2) {
        std::vector<Nanoseconds> out;
        for (Nanoseconds time = from; time < to; time += step) {
            out.push_back(time);
        }
        return out;
    }

    using Files = std::map<std::string, std::vector<unsigned>>;
    const std::vector<Interface> kInterfaces{
        {.link_type = 1, .snap_length = 96, .tick = kMicrosecond}};
    Folder folder;
    std::shared_ptr<RotationResult> end = std::make_shared<RotationResult>();

  private:
    std::vector<std::vector<std::uint8_t>> data_;
};

// Like tcpdump: a file larger than the limit gets no further packet.
TEST_F(RotatingWriterTest, by_size_each_packet_is_in_one_file) {
    const auto writer = open("out.pcap", {.bytes = kHeader + 250});
    ASSERT_TRUE(write(*writer, times(0, 8)));
    ASSERT_TRUE(write(*writer, times(8, 14)));
    ASSERT_TRUE(writer->close());
    EXPECT_EQ(files(),
              (Files{{"out.pcap", {0, 1, 2}}, {"out.pcap1", {3, 4, 5}}, {"out.pcap2", {6}}}));
    EXPECT_FALSE(end->full);
}

TEST_F(RotatingWriterTest, by_number_too_and_those_left_out_do_not_count) {
    const auto writer = open("out.pcap.gz", {.packets = 2});
    ASSERT_TRUE(write(*writer, {0, 1, 2, 3, 5, 6, 8, 9}));
    ASSERT_TRUE(writer->close());
    EXPECT_EQ(files(), (Files{{"out.pcap.gz", {0, 2}}, {"out.pcap1.gz", {5, 6}}}));
}

TEST_F(RotatingWriterTest, a_ring_keeps_the_newest) {
    const auto writer = open("out.pcap", {.packets = 2, .files = 3});
    ASSERT_TRUE(write(*writer, times(0, 18)));  // 9 are kept: the fifth file is out.pcap1 again
    ASSERT_TRUE(writer->close());
    EXPECT_EQ(files(), (Files{{"out.pcap0", {6, 7}}, {"out.pcap1", {8}}, {"out.pcap2", {4, 5}}}));
}

TEST_F(RotatingWriterTest, names_of_a_ring_sort) {
    EXPECT_EQ(rotated_name("a.pcap", {.bytes = 1, .files = 10}, 0, 9), "a.pcap9");
    EXPECT_EQ(rotated_name("a.pcap", {.bytes = 1, .files = 11}, 0, 9), "a.pcap09");
    EXPECT_EQ(rotated_name("a.pcap.zst", {.bytes = 1, .files = 101}, 0, 7), "a.pcap007.zst");
    EXPECT_EQ(rotated_name("a.pcap", {.bytes = 1}, 0, 0), "a.pcap");
    EXPECT_EQ(rotated_name("%H-%M.pcap", {.bytes = 1, .interval = kSecond}, kStart, 2),
              "12-26.pcap2");
    EXPECT_TRUE(has_time_format("a-%H.pcap"));
    EXPECT_FALSE(has_time_format("a-100%%.pcap"));
}

TEST_F(RotatingWriterTest, by_time_names_have_the_time_of_the_first_packet) {
    const auto writer = open("%M%S.pcap", {.interval = 2 * kSecond});
    ASSERT_TRUE(write(*writer, {0, 1998, 2000, 2500, 3998, 9000}));
    ASSERT_TRUE(writer->close());
    EXPECT_EQ(files(),
              (Files{{"2640.pcap", {0, 1}}, {"2642.pcap", {2, 3, 4}}, {"2649.pcap", {5}}}));
}

TEST_F(RotatingWriterTest, by_time_and_number_it_counts_within_the_time) {
    const auto writer = open("%S.pcap", {.packets = 2, .interval = 2 * kSecond});
    ASSERT_TRUE(write(*writer, {0, 2, 4, 2000, 2002, 2004, 2006, 2008}));
    ASSERT_TRUE(writer->close());
    EXPECT_EQ(files(), (Files{{"40.pcap", {0, 1}},
                              {"40.pcap1", {2}},
                              {"42.pcap", {3, 4}},
                              {"42.pcap1", {5, 6}},
                              {"42.pcap2", {7}}}));
}

TEST_F(RotatingWriterTest, by_time_it_ends_behind_so_many) {
    const auto writer = open("%S.pcap", {.interval = kSecond, .files = 2});
    ASSERT_TRUE(write(*writer, {0, 1000, 1998, 2000, 2001, 2002}));
    ASSERT_TRUE(writer->close());
    EXPECT_TRUE(end->full);
    EXPECT_EQ(end->after_last_file, 2U);
    EXPECT_EQ(files(), (Files{{"40.pcap", {0}}, {"41.pcap", {1, 2}}}));
}

TEST_F(RotatingWriterTest, a_file_that_cannot_be_ends_it) {
    const auto writer = make_rotating_writer(
        folder.file("out"), {.packets = 1},
        [&, files = 0](const std::string& path) mutable -> Result<std::unique_ptr<Writer>> {
            return ++files == 2 ? fail(Errc::kConfig, "not this one: " + path)
                                : create_capture(path);
        },
        false, kStart, end);
    ASSERT_TRUE(writer->begin(kInterfaces));
    const Status written = write(*writer, times(0, 6));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().context, "not this one: " + folder.file("out1"));
    EXPECT_EQ(folder.names(), std::set<std::string>{"out"});
}

}  // namespace
}  // namespace unecho::capture
