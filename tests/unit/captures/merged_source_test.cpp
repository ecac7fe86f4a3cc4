// SPDX-License-Identifier: BSD-3-Clause
#include "captures/merged_source.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "captures/formats/capture_source.h"
#include "support/capture_builder.h"

namespace {

using namespace unecho;
using namespace unecho::test;
using capture::Source;

std::unique_ptr<Source> open_source(const CaptureBytes& bytes, std::size_t buffer_bytes = 4096) {
    auto source =
        capture::open_capture_source(std::make_unique<MemoryStream>(bytes), "sample", buffer_bytes);
    EXPECT_TRUE(source);
    return std::move(*source);
}

// Return a packet at each of the times, whose data are its input and its place there.
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
        sources.push_back(open_source(file, buffer_bytes));
    }
    return capture::merge_sources(std::move(sources));
}

// Return (input, place) of each packet, in order.
std::vector<std::pair<unsigned, unsigned>> order_of(const std::vector<ReadPacket>& packets) {
    std::vector<std::pair<unsigned, unsigned>> out;
    for (const ReadPacket& packet : packets) {
        out.emplace_back(packet.data[0], packet.data[1] + 256U * packet.data[2]);
    }
    return out;
}

using Order = std::vector<std::pair<unsigned, unsigned>>;

// A clock was an hour ahead for a moment. Batches may end anywhere.
TEST(MergedSource, stamps_that_run_ahead_do_not_hold_their_input_back) {
    std::vector<std::uint32_t> other;
    for (std::uint32_t i = 0; i < 40; ++i) {
        other.push_back(1000 + i);
    }
    for (const std::size_t buffer_bytes : {64U, 100U, 4096U}) {
        const auto merged = [&](Nanoseconds jump) {
            std::vector<std::unique_ptr<Source>> sources;
            sources.push_back(
                open_source(capture_at(0, {4600, 1003, 4605, 4606, 1004, 1039}), buffer_bytes));
            sources.push_back(open_source(capture_at(1, other), buffer_bytes));
            std::vector<std::size_t> places;  // of the first input's packets
            const auto source = capture::merge_sources(std::move(sources), jump);
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

TEST(MergedSource, time_that_steps_back_counts_as_the_latest) {
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

TEST(MergedSource, empty_inputs_do_not_matter) {
    const auto source = merge_of({capture_at(0, {}), capture_at(1, {2}), capture_at(2, {})});
    const ReadCapture got = read_all(*source);
    EXPECT_EQ(order_of(got.packets), (Order{{1, 0}}));
    EXPECT_EQ(got.interfaces.size(), 3U);
    EXPECT_TRUE(read_all(*merge_of({capture_at(0, {}), capture_at(1, {})})).packets.empty());
}

// Compare with sorting by (latest time in the input, input, place), in batches of all sizes.
TEST(MergedSource, many_inputs_are_as_sorted) {
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

TEST(MergedSource, batches_hold_the_memory_of_their_records_and_keep_the_limit) {
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

TEST(MergedSource, interfaces_are_numbered_over_all_inputs) {
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

// Returns one batch, then an error.
class FailingSource final : public Source {
  public:
    explicit FailingSource(const CaptureBytes& bytes) : source_(open_source(bytes)) {}
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

TEST(MergedSource, error_comes_after_what_was_read) {
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(open_source(capture_at(0, {1, 4, 6})));
    sources.push_back(std::make_unique<FailingSource>(capture_at(1, {2, 3})));
    const auto source = capture::merge_sources(std::move(sources));
    EXPECT_EQ(source->progress().total, 0U) << "one is a pipe";
    const ReadCapture got = read_all(*source);
    EXPECT_EQ(order_of(got.packets), (Order{{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}}));
    EXPECT_EQ(got.error, "no disk");
    capture::Batch batch;
    const Result<bool> more = source->next(batch);
    ASSERT_TRUE(more);
    EXPECT_FALSE(*more);
}

// Counts the sources that are open.
class Counted final : public Source {
  public:
    Counted(std::unique_ptr<Source> source, unsigned& open_source, unsigned& most)
        : source_(std::move(source)), open_(open_source) {
        most = std::max(most, ++open_);
    }
    ~Counted() override { --open_; }

    Result<bool> next(capture::Batch& batch) override { return source_->next(batch); }
    void keep_blocks(bool nothing_lost) override { source_->keep_blocks(nothing_lost); }
    [[nodiscard]] capture::InterfaceView interfaces() const override {
        return source_->interfaces();
    }
    [[nodiscard]] capture::FileFormat format() const override { return source_->format(); }
    [[nodiscard]] Progress progress() const override { return source_->progress(); }
    [[nodiscard]] std::vector<capture::Warning> warnings() const override {
        return source_->warnings();
    }
    [[nodiscard]] std::vector<capture::Warning> losses() const override {
        return source_->losses();
    }

  private:
    std::unique_ptr<Source> source_;
    unsigned& open_;
};

struct LateInputs {
    unsigned now_open = 0;
    unsigned most = 0;  // at a time

    // Every pipe-th input cannot be reopened, like a pipe.
    std::unique_ptr<Source> merged(const std::vector<CaptureBytes>& files, std::size_t buffer_bytes,
                                   Nanoseconds jump, unsigned pipe) {
        std::vector<capture::MergeInput> inputs;
        for (const CaptureBytes& file : files) {
            const auto opened = [this, &file, buffer_bytes] {
                return std::make_unique<Counted>(open_source(file, buffer_bytes), now_open, most);
            };
            capture::MergeInput& input = inputs.emplace_back();
            input.name = "input " + std::to_string(inputs.size());
            input.source = opened();
            input.interfaces = input.source->interfaces();
            input.format = input.source->format();
            input.size = input.source->progress().total;
            if (inputs.size() % pipe != 0) {
                input.source.reset();
                input.open = opened;
            }
        }
        return capture::merge_sources(std::move(inputs), jump, nullptr);
    }
};

// Return what a reader of the merged capture sees, independent of interface numbers.
std::string seen_of(Source& source) {
    const ReadCapture got = read_all(source);
    std::string out;
    for (const ReadPacket& packet : got.packets) {
        const capture::Interface& interface = got.interfaces[packet.interface];
        out += std::to_string(packet.time) + " " + std::to_string(interface.file) + " " +
               std::to_string(packet.number) + " " + std::to_string(interface.link_type) + "\n";
    }
    for (const capture::Warning& warning : got.warnings) {
        out += std::to_string(warning.file) + " " + warning.text + "\n";
    }
    return out + std::to_string(source.progress().done) + got.error;
}

CaptureBytes pcapng_at(std::mt19937& draw, const std::vector<std::uint32_t>& seconds) {
    PcapngBuilder out;
    out.section().interface(1, 0);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        if (draw() % 10 == 0) {
            out.interface(static_cast<std::uint16_t>(101 + i), 0);
            out.enhanced(1, std::uint64_t{seconds[i]} * 1'000'000, {}, 0).section().interface(1, 0);
        } else {
            out.enhanced(0, std::uint64_t{seconds[i]} * 1'000'000, {}, 0);
        }
    }
    return out.done();
}

// Overlaps of all kinds, disorder in a file, times that run ahead, empty files, cut files, pipes.
TEST(MergedSource, inputs_opened_when_they_are_due_come_as_if_all_were_open) {
    std::mt19937 draw(12);
    for (unsigned turn = 0; turn < 12; ++turn) {
        std::vector<CaptureBytes> files;
        for (unsigned input = 0; input < 25; ++input) {
            std::vector<std::uint32_t> seconds;
            std::uint32_t now = 1000 + draw() % (turn % 2 == 0 ? 2000 : 50);
            for (unsigned place = draw() % 40; place > 0; --place) {
                now += draw() % 6;
                const bool astray = draw() % 15 == 0;
                seconds.push_back(astray ? now + draw() % 9000 : now - draw() % 4);
            }
            CaptureBytes file = draw() % 2 == 0
                                    ? capture_at(static_cast<std::uint8_t>(input), seconds)
                                    : pcapng_at(draw, seconds);
            if (draw() % 8 == 0 && file.size() > 60) {
                file.resize(file.size() - 3);
            }
            files.push_back(std::move(file));
        }
        for (const std::size_t buffer : {70U, 300U, 1U << 16U}) {
            for (const Nanoseconds jump : {kNoEpochs, 10 * kSecond}) {
                LateInputs late;
                std::vector<std::unique_ptr<Source>> sources;
                for (const CaptureBytes& file : files) {
                    sources.push_back(open_source(file, buffer));
                }
                const auto all_open = capture::merge_sources(std::move(sources), jump);
                const auto closed = late.merged(files, buffer, jump, 7);
                EXPECT_EQ(seen_of(*closed), seen_of(*all_open)) << turn << " " << buffer;
                EXPECT_EQ(late.now_open, 0U) << "each is closed at its end";
            }
        }
    }
}

TEST(MergedSource, inputs_one_behind_the_other_are_open_one_at_a_time) {
    std::vector<CaptureBytes> files;
    Order expected;
    for (std::uint8_t input = 0; input < 200; ++input) {
        const std::uint32_t start = 1000 + 10U * (199U - input);
        files.push_back(capture_at(input, {start, start + 4, start + 3, start + 9}));
    }
    for (unsigned input = 200; input-- > 0;) {
        for (const unsigned place : {0U, 1U, 2U, 3U}) {
            expected.emplace_back(input, place);
        }
    }
    LateInputs late;
    const auto source = late.merged(files, 4096, kSecond, 1000);
    const std::size_t size = files.front().size();
    EXPECT_EQ(source->progress().total, 200 * size);
    EXPECT_EQ(order_of(read_all(*source).packets), expected);
    EXPECT_EQ(source->progress().done, 200 * size);
    EXPECT_EQ(late.most, 1U);
}

// Return the blocks of a merge, each as its type and input.
std::string blocks_of(Source& source) {
    source.keep_blocks(true);
    std::string out;
    for (capture::Batch batch; *source.next(batch);) {
        for (const capture::Block& block : batch.blocks) {
            out += std::to_string(block.type == 0x0A0D0D0A ? 0 : block.type) + "/" +
                   std::to_string(block.file) + " ";
        }
    }
    return out;
}

TEST(MergedSource, header_of_the_first_pcapng_comes_first_and_no_block_is_lost) {
    const CaptureBytes names(8);
    PcapngBuilder a;
    a.section().interface(1, 0).enhanced(0, 5'000'000, {}, 0).block(4, names);
    PcapngBuilder b;
    b.section().interface(1, 0).block(5, CaptureBytes(12)).block(4, names);
    PcapngBuilder c;
    c.section().block(4, names).interface(1, 0).enhanced(0, 1'000'000, {}, 0);
    const std::vector<CaptureBytes> files{capture_at(0, {3}), a.done(), b.done(), c.done()};
    const std::string expected = "0/1 0/2 1/2 5/2 4/2 0/3 4/3 1/3 0/1 1/1 4/1 ";
    std::vector<std::unique_ptr<Source>> sources;
    for (const CaptureBytes& file : files) {
        sources.push_back(open_source(file));
    }
    EXPECT_EQ(blocks_of(*capture::merge_sources(std::move(sources))), expected);
    for (const std::size_t buffer : {64U, 100U, 4096U}) {
        LateInputs late;
        EXPECT_EQ(blocks_of(*late.merged(files, buffer, kNoEpochs, 100)), expected) << buffer;
    }
}

// Batches in use by other threads do not count towards the inputs' memory.
void expect_little_memory(const std::vector<CaptureBytes>& files, std::size_t buffer,
                          std::size_t most, std::size_t packets) {
    const auto source = merge_of(files, buffer);
    std::size_t read = 0;
    for (capture::Batch batch; *source->next(batch);) {
        std::size_t bytes = 0;
        for (const auto& memory : batch.memory) {
            bytes += memory->size();
        }
        EXPECT_LE(bytes, most);
        read += batch.records.size();
    }
    EXPECT_EQ(read, packets);
}

CaptureBytes equal_packets(unsigned packets, std::size_t length) {
    CaptureBytes file = pcap_header({});
    const CaptureBytes record = pcap_record({}, 1, 1, CaptureBytes(length), 0);
    for (unsigned i = 0; i < packets; ++i) {
        file.insert(file.end(), record.begin(), record.end());
    }
    return file;
}

TEST(MergedSource, batch_holds_a_mebibyte_or_a_few_records_beside_what_is_in_use) {
    constexpr std::size_t kBuffer = 64U << 10U;
    const CaptureBytes file = equal_packets(4000, 1500);
    expect_little_memory({file, file, file}, kBuffer, (std::size_t{1} << 20U) + 4 * kBuffer,
                         12'000);
    expect_little_memory({equal_packets(12, 2U << 20), capture_at(1, {1})}, 512U << 10U, 20U << 20,
                         13);
}

TEST(MergedSource, input_that_has_changed_until_it_is_due_is_told) {
    PcapngBuilder before;
    before.section().interface(1, 0).enhanced(0, 5'000'000, {}, 0);
    PcapngBuilder after;
    after.section().interface(101, 0).enhanced(0, 5'000'000, {}, 0);
    std::vector<capture::MergeInput> inputs(2);
    inputs[0].source = open_source(capture_at(0, {1, 2}));
    inputs[1].name = "b.pcapng";
    inputs[1].open = [file = before.done(), later = after.done(), times = 0U]() mutable {
        return open_source(times++ == 0 ? file : later);
    };
    const auto source = capture::merge_sources(std::move(inputs), kNoEpochs, nullptr);
    const ReadCapture got = read_all(*source);
    EXPECT_EQ(got.packets.size(), 2U);
    EXPECT_EQ(got.error, "b.pcapng: was changed while it was read");
}

}  // namespace
