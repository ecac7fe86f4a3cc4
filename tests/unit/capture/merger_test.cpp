// SPDX-License-Identifier: BSD-3-Clause
#include "capture/merger.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "capture/input.h"
#include "support/capture_builder.h"

namespace {

using namespace unecho;
using namespace unecho::test;
using capture::Source;

std::unique_ptr<Source> open(const CaptureBytes& bytes, std::size_t buffer_bytes = 4096) {
    auto source =
        capture::open_input(std::make_unique<MemoryStream>(bytes), "sample", buffer_bytes);
    EXPECT_TRUE(source);
    return std::move(*source);
}

// A packet at each of the times, whose data are input and place.
CaptureBytes capture_at(std::uint8_t input, const std::vector<std::uint32_t>& seconds) {
    CaptureBytes out = pcap_header({});
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        const CaptureBytes data{input, static_cast<std::uint8_t>(i),
                                static_cast<std::uint8_t>(i >> 8)};
        out += pcap_record({}, seconds[i], 0, data, 3);
    }
    return out;
}

std::unique_ptr<Source> merge_of(const std::vector<CaptureBytes>& files,
                                 std::size_t buffer_bytes = 4096) {
    std::vector<std::unique_ptr<Source>> sources;
    for (const CaptureBytes& file : files) {
        sources.push_back(open(file, buffer_bytes));
    }
    return capture::merge(std::move(sources));
}

// (input, place) of the packets in their order.
std::vector<std::pair<unsigned, unsigned>> order_of(const std::vector<ReadPacket>& packets) {
    std::vector<std::pair<unsigned, unsigned>> out;
    for (const ReadPacket& packet : packets) {
        out.emplace_back(packet.data[0], packet.data[1] + 256U * packet.data[2]);
    }
    return out;
}

using Order = std::vector<std::pair<unsigned, unsigned>>;

TEST(Merger, earliest_comes_first_and_equal_times_by_input) {
    const auto source = merge_of(
        {capture_at(0, {2, 5, 5, 9}), capture_at(1, {1, 5, 6}), capture_at(2, {5, 5, 10})});
    EXPECT_EQ(
        order_of(read_all(*source).packets),
        (Order{{1, 0}, {0, 0}, {0, 1}, {0, 2}, {1, 1}, {2, 0}, {2, 1}, {1, 2}, {0, 3}, {2, 2}}));
}

// A clock that ran an hour ahead for a moment, wherever batches end.
TEST(Merger, stamps_that_run_ahead_do_not_hold_their_input_back) {
    std::vector<std::uint32_t> other;
    for (std::uint32_t i = 0; i < 40; ++i) {
        other.push_back(1000 + i);
    }
    for (const std::size_t buffer_bytes : {64U, 100U, 4096U}) {
        const auto merged = [&](Nanoseconds jump) {
            std::vector<std::unique_ptr<Source>> sources;
            sources.push_back(
                open(capture_at(0, {4600, 1003, 4605, 4606, 1004, 1039}), buffer_bytes));
            sources.push_back(open(capture_at(1, other), buffer_bytes));
            std::vector<std::size_t> places;  // of the first input's packets
            const auto source = capture::merge(std::move(sources), jump);
            const Order order = order_of(read_all(*source).packets);
            EXPECT_EQ(order.size(), 46U);
            for (std::size_t i = 0; i < order.size(); ++i) {
                if (order[i].first == 0) {
                    EXPECT_EQ(order[i].second, places.size());
                    places.push_back(i);
                }
            }
            return places;
        };
        using Places = std::vector<std::size_t>;
        EXPECT_EQ(merged(kSecond), (Places{3, 4, 6, 7, 8, 44})) << buffer_bytes;
        EXPECT_EQ(merged(kNoEpochs), (Places{40, 41, 42, 43, 44, 45})) << buffer_bytes;
    }
}

TEST(Merger, time_that_steps_back_counts_as_the_latest) {
    const auto source = merge_of({capture_at(0, {5, 1, 6}), capture_at(1, {2, 5, 7, 3, 8})});
    const ReadCapture got = read_all(*source);
    EXPECT_EQ(order_of(got.packets),
              (Order{{1, 0}, {0, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {1, 3}, {1, 4}}));
    EXPECT_EQ(got.packets[2].time, 1 * kSecond) << "as it stands in the capture";
    ASSERT_EQ(got.warnings.size(), 2U);
    EXPECT_EQ(got.warnings[0].file, 0U);
    EXPECT_EQ(got.warnings[0].number, 2U);
    EXPECT_EQ(got.warnings[1].file, 1U);
    EXPECT_EQ(got.warnings[1].number, 4U);
}

TEST(Merger, empty_inputs_do_not_matter) {
    const auto source = merge_of({capture_at(0, {}), capture_at(1, {2}), capture_at(2, {})});
    const ReadCapture got = read_all(*source);
    EXPECT_EQ(order_of(got.packets), (Order{{1, 0}}));
    EXPECT_EQ(got.interfaces.size(), 3U);
    EXPECT_TRUE(read_all(*merge_of({capture_at(0, {}), capture_at(1, {})})).packets.empty());
}

// Against sorting by (latest time in the input, input, place), in batches of all sizes.
TEST(Merger, many_inputs_are_as_sorted) {
    constexpr std::size_t kPackets = 2000;
    std::mt19937 draw(7);
    for (const unsigned inputs : {2U, 3U, 17U}) {
        struct Expected {
            std::uint32_t latest;
            unsigned input;
            unsigned place;
            bool operator<(const Expected& other) const {
                return std::tie(latest, input, place) <
                       std::tie(other.latest, other.input, other.place);
            }
        };
        std::vector<Expected> expected;
        std::vector<CaptureBytes> files;
        for (unsigned input = 0; input < inputs; ++input) {
            std::vector<std::uint32_t> seconds;
            std::uint32_t latest = 0;
            for (unsigned place = 0; place < kPackets / inputs * (1 + input % 3); ++place) {
                seconds.push_back(latest + draw() % 5 - std::min(latest, 2U));
                latest = std::max(latest, seconds.back());
                expected.push_back({latest, input, place});
            }
            files.push_back(capture_at(static_cast<std::uint8_t>(input), seconds));
        }
        std::sort(expected.begin(), expected.end());
        Order order;
        for (const Expected& one : expected) {
            order.emplace_back(one.input, one.place);
        }
        for (const std::size_t buffer : {40U, 1000U, 1'000'000U}) {
            EXPECT_EQ(order_of(read_all(*merge_of(files, buffer)).packets), order)
                << inputs << " " << buffer;
        }
    }
}

TEST(Merger, batches_hold_the_memory_of_their_records_and_keep_the_limit) {
    std::vector<std::uint32_t> seconds(5000);
    for (std::uint32_t i = 0; i < seconds.size(); ++i) {
        seconds[i] = i;
    }
    const std::vector<CaptureBytes> files{capture_at(0, seconds), capture_at(1, seconds)};
    auto source = merge_of(files, 100);
    std::vector<capture::Batch> kept;
    for (capture::Batch batch; *source->next(batch); batch = {}) {
        EXPECT_LE(batch.records.size(), capture::kMaxBatch);
        kept.push_back(std::move(batch));
    }
    source.reset();
    unsigned i = 0;
    for (const capture::Batch& batch : kept) {
        for (const capture::Record& record : batch.records) {
            ASSERT_EQ(record.data[0], i % 2);
            ASSERT_EQ(record.data[1] + 256U * record.data[2], i / 2);
            ++i;
        }
    }
    EXPECT_EQ(i, 10'000U);
}

TEST(Merger, batch_of_large_records_holds_little_memory) {
    constexpr std::size_t kLarge = 2U << 20;
    CaptureBytes file = pcap_header({});
    const CaptureBytes record = pcap_record({}, 1, 1, CaptureBytes(kLarge), 0);
    for (unsigned i = 0; i < 12; ++i) {
        file.insert(file.end(), record.begin(), record.end());
    }
    const auto source = merge_of({file, capture_at(1, {1})}, 512U << 10);
    std::size_t packets = 0;
    for (capture::Batch batch; *source->next(batch);) {
        std::size_t bytes = 0;
        for (const auto& memory : batch.memory) {
            bytes += memory->size();
        }
        EXPECT_LE(bytes, 20U << 20);
        packets += batch.records.size();
    }
    EXPECT_EQ(packets, 13U);
}

TEST(Merger, interfaces_are_numbered_over_all_inputs) {
    PcapngBuilder a;
    a.section().interface(101, 0).enhanced(0, 1'000'000, {}, 0).interface(113, 0);
    a.enhanced(1, 3'000'000, {}, 0).section().interface(9, 0).enhanced(0, 5'000'000, {}, 0);
    const auto source = merge_of({a.done(), capture_at(1, {2, 4})}, 64);
    const ReadCapture got = read_all(*source);
    ASSERT_EQ(got.packets.size(), 5U);
    const std::vector<std::pair<std::uint16_t, std::uint32_t>> expected{
        {101, 0}, {1, 1}, {113, 0}, {1, 1}, {9, 0}};
    for (std::size_t i = 0; i < 5; ++i) {
        const capture::Interface& interface = got.interfaces.at(got.packets[i].interface);
        EXPECT_EQ(interface.link_type, expected[i].first);
        EXPECT_EQ(interface.file, expected[i].second);
    }
    EXPECT_EQ(got.interfaces.size(), 4U);
    EXPECT_EQ(got.packets[3].number, 2U) << "in its own file";
}

TEST(Merger, progress_is_the_sum) {
    const CaptureBytes a = capture_at(0, {1, 2, 3});
    const CaptureBytes b = capture_at(1, {1});
    const auto source = merge_of({a, b});
    EXPECT_EQ(source->progress().total, a.size() + b.size());
    read_all(*source);
    EXPECT_EQ(source->progress().done, a.size() + b.size());
}

// One batch, then an error.
class FailingSource final : public Source {
  public:
    explicit FailingSource(const CaptureBytes& bytes) : source_(open(bytes)) {}
    Result<bool> next(capture::Batch& batch) override {
        batch.clear();
        return std::exchange(good_, false) ? source_->next(batch) : fail(Errc::kIo, "no disk");
    }
    [[nodiscard]] capture::InterfaceView interfaces() const override {
        return source_->interfaces();
    }
    [[nodiscard]] Progress progress() const override { return {1, 0}; }
    [[nodiscard]] std::vector<capture::Warning> warnings() const override { return {}; }

  private:
    std::unique_ptr<Source> source_;
    bool good_ = true;
};

TEST(Merger, error_comes_after_what_was_read) {
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(open(capture_at(0, {1, 4, 6})));
    sources.push_back(std::make_unique<FailingSource>(capture_at(1, {2, 3})));
    const auto source = capture::merge(std::move(sources));
    EXPECT_EQ(source->progress().total, 0U) << "one is a pipe";
    const ReadCapture got = read_all(*source);
    EXPECT_EQ(order_of(got.packets), (Order{{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}}));
    EXPECT_EQ(got.error, "no disk");
    capture::Batch batch;
    const Result<bool> more = source->next(batch);
    ASSERT_TRUE(more);
    EXPECT_FALSE(*more);
}

}  // namespace
