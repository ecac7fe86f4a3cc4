// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/analyze.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "stream.h"

namespace unecho::analyze {
namespace {

const std::vector<std::string> kPaths{"a.pcap"};

AnalysisJob job_of(const std::vector<std::string>& paths) {
    return {paths, kMinMemory, hash::secret_from_seed(1), {}, {}};
}

void fill(Stream& stream) {
    for (unsigned i = 0; i < 5; ++i) {
        stream.add(i, test::PacketSpec{}, i % 2);
    }
}

TEST(Analyze, files_and_interfaces_have_names_and_sums) {
    Stream stream(2);
    fill(stream);
    stream.interfaces()[1].name = "eth1";
    FakeSource source(stream);
    source.warned = {{1, 7, 3, "odd"}};
    const std::vector<std::string> paths{"d/a.pcap", "d/b.pcapng"};
    const auto report = analyze(source, job_of(paths));
    ASSERT_TRUE(report);
    ASSERT_EQ(report->files.size(), 2U);
    EXPECT_EQ(report->files[0].path, "d/a.pcap");
    EXPECT_EQ(report->files[0].total.packets, 3U);
    EXPECT_EQ(report->files[0].echoes.packets, 2U);
    EXPECT_EQ(report->files[1].echoes.packets, 2U);
    EXPECT_EQ(report->interfaces[0].name, "a.pcap");
    EXPECT_EQ(report->interfaces[1].name, "b.pcapng:eth1");
    EXPECT_EQ(report->interfaces[1].link_name, "Ethernet");
    ASSERT_EQ(report->warnings.size(), 1U);
    EXPECT_EQ(report->warnings[0].file, "d/b.pcapng");
    EXPECT_EQ(report->warnings[0].number, 7U);
    EXPECT_FALSE(report->recommendation.toml.empty());
}

TEST(Analyze, names_of_interfaces_are_unique) {
    Stream stream(3);
    fill(stream);
    for (auto& one : stream.interfaces()) {
        one.file = 0;
    }
    FakeSource source(stream);
    const std::vector<std::string> paths{"-"};
    const auto report = analyze(source, job_of(paths));
    ASSERT_TRUE(report);
    EXPECT_EQ(report->interfaces[0].name, "standard input");
    EXPECT_EQ(report->interfaces[1].name, "standard input #2");
    EXPECT_EQ(report->interfaces[2].total.packets, 0U);
}

TEST(Analyze, what_came_before_a_failure_is_reported) {
    Stream stream(2);
    fill(stream);
    FakeSource source(stream);
    source.failure = Error{Errc::kIo, "a.pcap: lost"};
    const std::vector<std::string> paths{"a.pcap"};
    const auto report = analyze(source, job_of(paths));
    ASSERT_TRUE(report);
    EXPECT_EQ(report->total.packets, 5U);
    ASSERT_EQ(report->warnings.size(), 1U);
    EXPECT_EQ(report->warnings[0].text, "a.pcap: lost; read up to there");
}

TEST(Analyze, failure_before_the_first_packet_is_a_failure) {
    Stream stream;
    FakeSource source(stream);
    source.failure = Error{Errc::kUnsupported, "a.pcap: odd"};
    const auto report = analyze(source, job_of(kPaths));
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::kUnsupported);
}

TEST(Analyze, memory_that_is_not_there_is_an_error) {
    Stream stream;
    FakeSource source(stream);
    AnalysisJob job = job_of(kPaths);
    job.memory = std::uint64_t{1} << 60;
    const auto report = analyze(source, job);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::kNoMemory);
}

// ---- results of another configuration, where one of the two opens tunnels ----------------------

// Removes the packets whose numbers are in a list.
class FakeRemover : public PacketRemover {
  public:
    FakeRemover(std::vector<std::uint64_t> numbers, std::vector<std::string> tunnels)
        : numbers_(std::move(numbers)), tunnels_(std::move(tunnels)) {}

    Status decide(const capture::Batch& batch, const capture::InterfaceView& /*interfaces*/,
                  std::vector<std::size_t>& removed) override {
        removed.clear();
        for (std::size_t i = 0; i < batch.records.size(); ++i) {
            if (std::binary_search(numbers_.begin(), numbers_.end(), batch.records[i].number)) {
                removed.push_back(i);
            }
        }
        return {};
    }
    [[nodiscard]] WhatIfQuestion described() const override {
        WhatIfQuestion out;
        out.tunnels = tunnels_;
        return out;
    }

  private:
    std::vector<std::uint64_t> numbers_;
    std::vector<std::string> tunnels_;
};

test::Bytes in_vxlan(const test::PacketSpec& spec, unsigned seed) {
    return tunnelled(spec, "vxlan", 7, seed);
}

test::PacketSpec numbered(std::uint16_t id) {
    test::PacketSpec spec;
    spec.id = id;
    return spec;
}

WhatIf asked(Stream& stream, std::vector<std::uint64_t> removed, std::vector<std::string> tunnels) {
    FakeSource source(stream);
    FakeRemover remover(std::move(removed), std::move(tunnels));
    AnalysisJob job = job_of(kPaths);
    job.remover = &remover;
    return *analyze(source, job)->what_if;
}

// A hello of ID 0 in a tunnel, every second. The outer IDs make every packet different, so there is
// no reason to open tunnels.
TEST(Analyze, asked_for_tunnels_take_out_what_was_sent_again_though_none_are_recommended) {
    Stream stream;
    for (unsigned i = 0; i < 10; ++i) {
        stream.add(i * kSecond, in_vxlan(numbered(0), i));
    }
    const WhatIf got = asked(stream, {2, 3, 4, 5, 6, 7, 8, 9, 10}, {"vxlan"});
    EXPECT_EQ(got.asked.removed.packets, 9U);
    EXPECT_EQ(got.asked.sent_again.packets, 9U);
    EXPECT_EQ(got.asked.others.packets, 0U);
    EXPECT_EQ(got.recommended.removed.packets, 0U);
    EXPECT_EQ(got.recommended.sent_again.packets, 0U);
    EXPECT_EQ(
        got.verdict,
        "It takes out 9 packets that were sent again: somebody will miss them. Nothing here was "
        "copied.");
}

// A mirror of whole tunnels shows each outer packet twice, 50 us apart. Opening the tunnels finds
// nothing more, but must find all of these too.
TEST(Analyze, asked_for_tunnels_and_recommended_none_find_the_same_copies) {
    Stream stream;
    std::vector<std::uint64_t> copies;
    for (std::uint16_t i = 0; i < 20; ++i) {
        const test::Bytes frame = in_vxlan(numbered(100 + i), i);
        stream.add(i * kMillisecond, frame);
        stream.add(i * kMillisecond + 50 * kMicrosecond, frame);
        copies.push_back(stream.records().size());
    }
    const WhatIf got = asked(stream, copies, {"vxlan"});
    for (const Removal& side : {got.asked, got.recommended}) {
        EXPECT_EQ(side.removed.packets, 20U);
        EXPECT_EQ(side.copies.packets, 20U);
        EXPECT_EQ(side.left.packets, 0U);
        EXPECT_EQ(side.others.packets, 0U);
    }
    EXPECT_EQ(got.verdict, "It removes all copies and nothing else.");
}

// A plain packet and its copy in a tunnel. Opening tunnels is recommended, but not requested.
TEST(Analyze, what_looks_into_no_tunnels_leaves_in_the_copies_that_the_recommended_finds_there) {
    Stream stream;
    std::vector<std::uint64_t> copies;
    for (std::uint16_t i = 0; i < 20; ++i) {
        stream.add(i * kMillisecond, numbered(100 + i));
        stream.add(i * kMillisecond + 50 * kMicrosecond, in_vxlan(numbered(100 + i), i));
        copies.push_back(stream.records().size());
    }
    const WhatIf none = asked(stream, {}, {});
    EXPECT_EQ(none.asked.left.packets, 20U);
    EXPECT_EQ(none.recommended.copies.packets, 20U);
    EXPECT_EQ(none.verdict, "It leaves 20 copied packets in.");
    const WhatIf all = asked(stream, copies, {"vxlan"});
    EXPECT_EQ(all.asked.copies.packets, 20U);
    EXPECT_EQ(all.asked.left.packets + all.recommended.left.packets, 0U);
}

// One of twenty copies is cut short. The recommended key_bytes remove it too.
TEST(Analyze, what_is_recommended_removes_copies_cut_short_and_what_counts_all_bytes_leaves_them) {
    Stream stream;
    for (std::uint16_t i = 0; i < 20; ++i) {
        test::PacketSpec spec = numbered(100 + i);
        spec.payload = test::counting(600);
        test::Bytes frame = test::build(spec);
        stream.add(i * kMillisecond, frame);
        frame.resize(164);
        stream.add(i * kMillisecond + 50 * kMicrosecond, frame);
    }
    const WhatIf got = asked(stream, {}, {});
    EXPECT_EQ(got.asked.left.packets, 20U);
    EXPECT_EQ(got.recommended.removed.packets, 20U);
    EXPECT_EQ(got.recommended.copies.packets, 20U);
    EXPECT_EQ(got.recommended.left.packets, 0U);
}

}  // namespace
}  // namespace unecho::analyze
