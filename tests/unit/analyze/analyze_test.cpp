// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/analyze.h"

#include <gtest/gtest.h>

#include "stream.h"

namespace unecho::analyze {
namespace {

// Gives the records in batches of two, then ends or fails.
class FakeSource : public capture::Source {
  public:
    explicit FakeSource(Stream& stream) : stream_(stream) {}

    Result<bool> next(capture::Batch& batch) override {
        batch.clear();
        const auto& all = stream_.records();
        if (at_ == all.size() && failure) {
            return tl::unexpected(*failure);
        }
        for (; at_ < all.size() && batch.records.size() < 2; ++at_) {
            batch.records.push_back(all[at_]);
        }
        return !batch.records.empty();
    }
    [[nodiscard]] capture::InterfaceView interfaces() const override {
        return capture::InterfaceList(stream_.interfaces()).view();
    }
    [[nodiscard]] Progress progress() const override { return {}; }
    [[nodiscard]] std::vector<capture::Warning> warnings() const override { return warned; }

    std::optional<Error> failure;
    std::vector<capture::Warning> warned;

  private:
    Stream& stream_;
    std::size_t at_ = 0;
};

const std::vector<std::string> kPaths{"a.pcap"};

Job job_of(const std::vector<std::string>& paths) {
    return {paths, kLeastMemory, hash::secret_from_seed(1), {}};
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
    Job job = job_of(kPaths);
    job.memory = std::uint64_t{1} << 60;
    const auto report = analyze(source, job);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::kNoMemory);
}

}  // namespace
}  // namespace unecho::analyze
