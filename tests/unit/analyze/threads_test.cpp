// SPDX-License-Identifier: BSD-3-Clause
// The report is the same to the byte for any number of threads, and with Collector::add().
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "captures/analyze/analyze.h"
#include "captures/analyze/report/report_json.h"
#include "stream.h"
#include "support/sanitizers.h"
#include "support/wrappings.h"

namespace unecho::analyze {
namespace {

// Returns batches of random sizes, some of them empty.
class StreamSource : public FakeSource {
  public:
    explicit StreamSource(Stream& stream, std::size_t end = SIZE_MAX)
        : FakeSource(stream), end_(std::min(end, stream.records().size())) {}

    Result<bool> next(capture::Batch& batch) override {
        batch.clear();
        if (at_ == end_ && end_ < stream_.records().size()) {
            return fail(Errc::kIo, "a.pcap: cannot be read");
        }
        if (at_ == end_) {
            return false;
        }
        take(batch, std::min<std::size_t>(random_() % 3000, end_ - at_));
        // Like a larger record: only a few of these may be pending.
        const std::size_t bytes = at_ % 5 == 0 ? kLarge : 1000;
        batch.memory.push_back(std::make_shared<const capture::Bytes>(bytes));
        return true;
    }

  protected:
    static constexpr std::size_t kLarge = std::size_t{3} << 20;

    void take(capture::Batch& batch, std::size_t count) {
        const auto begin = stream_.records().begin() + static_cast<std::ptrdiff_t>(at_);
        batch.records.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
        at_ += count;
    }

  private:
    std::size_t end_;
    std::mt19937_64 random_{7};
};

// Removes every third packet, then fails.
class ThirdRemover : public PacketRemover {
  public:
    explicit ThirdRemover(std::uint64_t most) : most_(most) {}

    Status decide(const capture::Batch& batch, const capture::InterfaceView& /*interfaces*/,
                  std::vector<std::size_t>& removed) override {
        removed.clear();
        for (std::size_t i = 0; i < batch.records.size(); ++i) {
            if (batch.records[i].number % 3 == 0) {
                removed.push_back(i);
            }
            if (batch.records[i].number == most_) {
                return fail(Errc::kNoMemory, "no more");
            }
        }
        return {};
    }
    [[nodiscard]] WhatIfQuestion described() const override { return {}; }

  private:
    std::uint64_t most_;
};

// Add packets of some flows, many of them repeated; from `tunnels` on some are in tunnels.
// Interfaces have different link types.
void fill(Stream& stream, std::size_t packets, std::size_t tunnels, unsigned seed) {
    std::mt19937_64 random(seed);
    test::Draw draw(seed);
    stream.interfaces()[1].link_type = 101;  // raw IP
    stream.interfaces()[2].link_type = 147;  // unknown
    std::vector<test::Bytes> seen;
    Nanoseconds now = kSecond;
    for (std::size_t i = 0; i < packets; ++i) {
        now += random() % (100 * kMicrosecond);
        const auto interface = static_cast<std::uint32_t>(random() % 16 == 0 ? random() % 3 : 0);
        if (!seen.empty() && random() % 3 == 0) {
            stream.add(now, seen[random() % seen.size()], interface);
            continue;
        }
        test::PacketSpec spec;
        spec.id = static_cast<std::uint16_t>(random());
        spec.source_port = static_cast<std::uint16_t>(1000 + random() % 200);
        spec.protocol = random() % 2 == 0 ? 6 : 17;
        test::Bytes bytes = test::build(spec);
        if (i >= tunnels && random() % 4 == 0) {
            const auto all = test::wrappings();
            const test::Wrapping& around = all[random() % all.size()];
            if (test::takes(around, {bytes, true})) {
                bytes = test::on_ethernet(test::wrap(around, {bytes, true}, 7, draw), draw);
            }
        }
        if (random() % 50 == 0) {
            bytes.resize(random() % 60);
        }
        if (seen.size() < 500) {
            seen.push_back(bytes);
        } else {
            seen[random() % seen.size()] = bytes;
        }
        stream.add(now, bytes, interface);
    }
}

struct Asked {
    std::uint64_t memory = std::uint64_t{32} << 20;
    std::size_t end = SIZE_MAX;
    bool remover = false;
    Shard shard{};
};

std::string answer_of(Stream& stream, unsigned threads, const Asked& asked) {
    StreamSource source(stream, asked.end);
    ThirdRemover remover(0);
    const std::vector<std::string> paths{"a.pcap", "b.pcap", "c.pcap"};
    AnalysisJob job;
    job.paths = paths;
    job.memory = asked.memory;
    job.secret = hash::secret_from_seed(3);
    job.threads = threads;
    job.shard = asked.shard;
    job.remover = asked.remover ? &remover : nullptr;
    std::uint64_t batches = 0;
    job.progress = [&](const capture::Source&) { ++batches; };
    const auto report = analyze(source, job);
    return report ? to_json_text(*report) + std::to_string(batches) : report.error().context;
}

void expect_same(std::size_t packets, std::size_t tunnels, const Asked& asked) {
    Stream stream(3);
    fill(stream, packets, tunnels, static_cast<unsigned>(packets + tunnels));
    const std::string one = answer_of(stream, 1, asked);
    EXPECT_GT(one.size(), 1000U);
    const std::vector<unsigned> counts =
        test::kUnderAsan ? std::vector{3U, 7U} : std::vector{2U, 3U, 4U, 7U};
    for (const unsigned threads : counts) {
        EXPECT_TRUE(one == answer_of(stream, threads, asked)) << threads << " threads";
    }
}

TEST(AnalyzeThreads, plain_packets) {
    expect_same(20'000, SIZE_MAX, {});
}

TEST(AnalyzeThreads, tunnels_that_begin_anywhere) {
    for (const std::size_t from : {0U, 1U, 63U, 64U, 1023U, 1024U, 5000U, 9'990U}) {
        expect_same(10'000, from, {});
    }
}

TEST(AnalyzeThreads, memory_that_is_full_before_tunnels_begin) {
    expect_same(60'000, 40'000, {.memory = kMinMemory});
}

TEST(AnalyzeThreads, what_is_removed) {
    expect_same(20'000, 8'000, {.remover = true});
}

TEST(AnalyzeThreads, shards) {
    expect_same(20'000, 8'000, {.shard = {2, 3}});
}

TEST(AnalyzeThreads, source_that_fails) {
    expect_same(20'000, 8'000, {.end = 12'345});
}

// Returns a larger record in each batch, with some others, and counts the pending batches.
class LargeSource : public StreamSource {
  public:
    using StreamSource::StreamSource;

    Result<bool> next(capture::Batch& batch) override {
        batch.clear();
        if (at_ == stream_.records().size()) {
            return false;
        }
        take(batch, 20);
        const auto bytes = std::make_shared<const capture::Bytes>(kLarge);
        batch.memory.push_back(bytes);
        made_.emplace_back(bytes);
        most_ = std::max(most_, std::count_if(made_.begin(), made_.end(),
                                              [](const auto& one) { return !one.expired(); }));
        return true;
    }

    [[nodiscard]] std::ptrdiff_t most() const { return most_; }

  private:
    std::vector<std::weak_ptr<const capture::Bytes>> made_;
    std::ptrdiff_t most_ = 0;
};

TEST(AnalyzeThreads, few_large_records_wait) {
    Stream stream(3);
    fill(stream, 4'000, SIZE_MAX, 1);
    for (const unsigned threads : {1U, 2U, 4U}) {
        LargeSource source(stream);
        AnalysisJob job;
        const std::vector<std::string> paths{"a.pcap", "b.pcap", "c.pcap"};
        job.paths = paths;
        job.memory = kMinMemory;
        job.secret = hash::secret_from_seed(3);
        job.threads = threads;
        ASSERT_TRUE(analyze(source, job));
        EXPECT_LE(source.most(), 2)
            << threads << " threads: of 3 MiB each, above 4 MiB nobody reads";
    }
}

TEST(AnalyzeThreads, few_packets) {
    for (const std::size_t packets : {0U, 1U, 64U, 65U}) {
        expect_same(packets, 0, {});
    }
}

TEST(AnalyzeThreads, remover_that_fails_is_the_answer) {
    Stream stream(3);
    fill(stream, 20'000, 100, 1);
    for (const unsigned threads : {1U, 2U, 4U}) {
        StreamSource source(stream);
        ThirdRemover remover(15'000);
        AnalysisJob job;
        job.memory = kMinMemory;
        job.secret = hash::secret_from_seed(3);
        job.threads = threads;
        job.remover = &remover;
        const auto report = analyze(source, job);
        ASSERT_FALSE(report);
        EXPECT_EQ(report.error().context, "no more");
    }
}

}  // namespace
}  // namespace unecho::analyze
