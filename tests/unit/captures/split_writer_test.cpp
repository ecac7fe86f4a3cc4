// SPDX-License-Identifier: BSD-3-Clause
#include "captures/output/split_writer.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "captures/open_captures.h"
#include "support/capture_builder.h"
#include "unit/captures/folder.h"

namespace unecho::capture {
namespace {

constexpr Nanoseconds kSplitStart = 1'600'000'000 * kSecond;  // 2020-09-13 12:26:40 UTC
constexpr std::uint8_t kData[4] = {1, 2, 3, 4};

class SplitWriterTest : public testing::Test {
  protected:
    SplitWriterTest() {
        ::setenv("TZ", "UTC", 1);
        ::tzset();
    }

    std::unique_ptr<Writer> open(const std::string& name, const Split& split) const {
        return make_split_writer(folder.file(name), split,
                                 [](const std::string& path) { return create_capture(path); });
    }

    // Write packets of these milliseconds since kSplitStart. Packets with an odd time are not kept.
    static Status write(Writer& writer, const std::vector<Nanoseconds>& milliseconds) {
        std::vector<Record> records;
        std::vector<std::uint64_t> keep((milliseconds.size() + 63) / 64);
        for (std::size_t i = 0; i < milliseconds.size(); ++i) {
            records.push_back({.time = kSplitStart + milliseconds[i] * kMillisecond,
                               .data = kData,
                               .length = 4,
                               .wire_length = 4,
                               .number = i + 1});
            keep[i / 64] |= std::uint64_t{milliseconds[i] % 2 == 0} << i % 64;
        }
        const std::vector<Interface> interfaces{
            {.link_type = 1, .snap_length = 96, .tick = kMicrosecond}};
        return writer.write(records, keep, interfaces);
    }

    [[nodiscard]] std::size_t packets_in(const std::string& name) const {
        const auto source = open_capture(folder.file(name));
        EXPECT_TRUE(source) << name;
        return source ? test::read_all(**source).packets.size() : 0;
    }

    Folder folder;
};

TEST_F(SplitWriterTest, so_many_packets_a_file) {
    const auto writer = open("out.pcap", {.packets = 70});
    std::vector<Nanoseconds> times;
    for (Nanoseconds i = 0; i < 300; ++i) {
        times.push_back(10 * i + i % 2);
    }
    ASSERT_TRUE(write(*writer, times));  // 150 are kept
    EXPECT_FALSE(folder.names().contains("out_00002_20200913122642.pcap")) << "not whole";
    ASSERT_TRUE(write(*writer, {4000, 4001, 5000}));
    ASSERT_TRUE(writer->close());
    EXPECT_EQ(folder.names(), (std::set<std::string>{"out_00000_20200913122640.pcap",
                                                     "out_00001_20200913122641.pcap",
                                                     "out_00002_20200913122642.pcap"}));
    EXPECT_EQ(packets_in("out_00000_20200913122640.pcap"), 70U);
    EXPECT_EQ(packets_in("out_00001_20200913122641.pcap"), 70U);
    EXPECT_EQ(packets_in("out_00002_20200913122642.pcap"), 12U);
    EXPECT_EQ(writer->bytes(), 3 * 24 + 152 * 20U);
}

TEST_F(SplitWriterTest, so_much_time_a_file) {
    const auto writer = open("a.b.pcapng.gz", {.interval = kSecond});
    // The end of an interval belongs to it. Empty intervals and steps back make no file.
    ASSERT_TRUE(write(*writer, {0, 999, 1000, 1002, 0, 2000, 5400, 5998, 6002}));
    ASSERT_TRUE(writer->close());
    EXPECT_EQ(folder.names(),
              (std::set<std::string>{
                  "a.b_00000_20200913122640.pcapng.gz", "a.b_00001_20200913122641.pcapng.gz",
                  "a.b_00002_20200913122645.pcapng.gz", "a.b_00003_20200913122646.pcapng.gz"}));
    EXPECT_EQ(packets_in("a.b_00000_20200913122640.pcapng.gz"), 2U);
    EXPECT_EQ(packets_in("a.b_00001_20200913122641.pcapng.gz"), 3U);
    EXPECT_EQ(packets_in("a.b_00002_20200913122645.pcapng.gz"), 2U);
    EXPECT_EQ(packets_in("a.b_00003_20200913122646.pcapng.gz"), 1U);
}

TEST_F(SplitWriterTest, without_packets_there_is_one_empty_file) {
    const auto writer = open("out.pcap", {.packets = 1});
    ASSERT_TRUE(write(*writer, {1, 3}));
    EXPECT_TRUE(folder.names().empty());
    ASSERT_TRUE(writer->close());
    EXPECT_EQ(folder.names(), std::set<std::string>{"out.pcap"});
    EXPECT_EQ(packets_in("out.pcap"), 0U);
    EXPECT_EQ((*open_capture(folder.file("out.pcap")))->interfaces()[0].snap_length, 96U);
}

TEST_F(SplitWriterTest, a_file_that_cannot_be_ends_it) {
    const auto writer = make_split_writer(
        folder.file("out"), {.packets = 1},
        [&, files = 0](const std::string& path) mutable -> Result<std::unique_ptr<Writer>> {
            return ++files == 2 ? fail(Errc::kConfig, "not this one: " + path)
                                : create_capture(path);
        });
    const Status written = write(*writer, {0, 2, 4});
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().context, "not this one: " + folder.file("out_00001_20200913122640"));
    EXPECT_EQ(folder.names(), std::set<std::string>{"out_00000_20200913122640"});
}

}  // namespace
}  // namespace unecho::capture
