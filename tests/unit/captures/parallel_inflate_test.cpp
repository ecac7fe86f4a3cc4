// SPDX-License-Identifier: BSD-3-Clause
// A gzip file reads the same whether or not threads inflate members ahead, whatever is damaged.
// This includes packets, warnings with their numbers, errors, and the position reached.
#include "captures/compression/parallel_inflate.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "captures/compression/gzip_stream.h"
#include "captures/formats/capture_source.h"
#include "support/capture_builder.h"
#include "support/sanitizers.h"

// TSan defines these operators itself, and they cannot be replaced.
#ifndef UNECHO_HAS_TSAN
namespace {

// Allocations by threads other than the test's: how many, and which one fails (0: none).
const std::thread::id kTests = std::this_thread::get_id();
std::atomic<unsigned> allocations_of_others{0};
std::atomic<unsigned> failing_allocation_of_others{0};

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
    const bool fails = std::this_thread::get_id() != kTests &&
                       ++allocations_of_others == failing_allocation_of_others;
    void* const memory = fails ? nullptr : std::malloc(size);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
    std::free(memory);
}
#endif

namespace {

using namespace unecho;
using namespace unecho::test;
using capture::InflatePool;

constexpr std::size_t kPiece = std::size_t{4} << 10U;

std::ptrdiff_t offset(std::size_t n) {
    return static_cast<std::ptrdiff_t>(n);
}

CaptureBytes part_of(const CaptureBytes& bytes, std::size_t from, std::size_t to) {
    return {bytes.begin() + offset(from), bytes.begin() + offset(std::min(to, bytes.size()))};
}

// Split the capture into gzip members of these sizes; the last one takes the rest.
CaptureBytes in_members(const CaptureBytes& file, const std::vector<std::size_t>& sizes,
                        const GzipSpec& spec = {}) {
    CaptureBytes out;
    std::size_t at = 0;
    for (const std::size_t size : sizes) {
        out += gzip(part_of(file, at, at + size), spec);
        at = std::min(file.size(), at + size);
    }
    return out + gzip(part_of(file, at, file.size()), spec);
}

std::vector<std::size_t> each(std::size_t bytes, const CaptureBytes& file) {
    return std::vector<std::size_t>(file.size() / bytes, bytes);
}

// Return a capture whose payload hardly compresses, so that members are as long as their content.
CaptureBytes noise_capture(unsigned packets, std::size_t length) {
    std::mt19937 draw(7);
    CaptureBytes out = pcap_header({});
    for (unsigned i = 0; i < packets; ++i) {
        CaptureBytes data(length);
        std::generate(data.begin(), data.end(), [&] { return static_cast<std::uint8_t>(draw()); });
        out += pcap_record({}, 1000 + i, i, data, static_cast<std::uint32_t>(length));
    }
    return out;
}

// Return the step between damaged bytes: 1 if UNECHO_EVERY_BYTE is set. The usual one hits some
// bytes of each header and trailer; under ASan, one of the 18 bytes between two members' data.
std::size_t step() {
    return std::getenv("UNECHO_EVERY_BYTE") != nullptr ? 1 : kUnderAsan ? 17 : 5;
}

struct Got {
    ReadCapture capture;
    std::uint64_t done = 0;
};

// Reads several inputs one after the other with the same threads.
class Reading {
  public:
    explicit Reading(unsigned threads) : inflaters_(std::make_shared<InflatePool>(threads)) {}

    [[nodiscard]] auto open(std::unique_ptr<capture::ByteStream> stream,
                            bool recover = false) const {
        return capture::open_capture_source(
            std::move(stream), "sample",
            capture::ReadResources{std::make_shared<capture::BufferPool>(kPiece), nullptr, recover,
                                   inflaters_});
    }
    [[nodiscard]] Got read(std::unique_ptr<capture::ByteStream> stream,
                           bool recover = false) const {
        const auto source = open(std::move(stream), recover);
        if (!source) {
            Got out;
            out.capture.error = source.error().context;
            return out;
        }
        Got out{read_all(**source)};
        out.done = (*source)->progress().done;
        return out;
    }
    [[nodiscard]] Got read(const CaptureBytes& packed, bool recover = false) const {
        return read(std::make_unique<MemoryStream>(packed), recover);
    }

  private:
    std::shared_ptr<InflatePool> inflaters_;
};

std::vector<std::tuple<std::uint64_t, std::string, bool, std::uint64_t>> told(
    const ReadCapture& capture) {
    std::vector<std::tuple<std::uint64_t, std::string, bool, std::uint64_t>> out;
    for (const capture::Warning& warning : capture.warnings) {
        out.emplace_back(warning.number, warning.text, warning.incomplete, warning.times);
    }
    return out;
}

bool is_left_in_a_member(const ReadCapture& capture) {
    return std::any_of(capture.warnings.begin(), capture.warnings.end(), [](const auto& warning) {
        return warning.text.find("at most") != std::string::npos;
    });
}

class ParallelInflate : public testing::Test {
  protected:
    void expect_same(const CaptureBytes& packed, const std::string& what, bool recover = false) {
        const Got serial = alone_.read(packed, recover);
        for (const Reading* const reading : {&one_, &three_}) {
            const Got got = reading->read(packed, recover);
            EXPECT_EQ(got.capture.error, serial.capture.error) << what;
            EXPECT_TRUE(got.capture.packets == serial.capture.packets)
                << what << ": " << got.capture.packets.size() << " and "
                << serial.capture.packets.size();
            EXPECT_EQ(told(got.capture), told(serial.capture)) << what;
            // If reading stops in the middle of a member, the rest is not known.
            if (!is_left_in_a_member(serial.capture)) {
                EXPECT_EQ(got.done, serial.done) << what;
            }
        }
    }

    Reading alone_{0};
    Reading one_{1};
    Reading three_{3};
};

// Return short and long members compared with a piece of 4 KiB, and next to each other.
std::vector<CaptureBytes> samples() {
    const CaptureBytes noise = noise_capture(300, 400);
    const CaptureBytes plain = pcap_sample({}, 3000);
    return {
        in_members(noise, each(700, noise)),
        in_members(noise, each(3000, noise)),
        in_members(noise, {100, 60'000, 100, 0, 0, 50'000, 3}),
        in_members(noise, each(5000, noise), {.all_fields = true}),
        in_members(noise, each(2000, noise), {.stored = true}),
        in_members(plain, each(20'000, plain)),
        in_members(plain, each(1000, plain), {.all_fields = true}),
        gzip(plain),
        gzip(noise),
    };
}

TEST_F(ParallelInflate, gives_what_the_reader_alone_gives) {
    for (const CaptureBytes& packed : samples()) {
        expect_same(packed, "whole");
    }
    const CaptureBytes plain = pcap_sample({}, 3000);
    const Got got = three_.read(in_members(plain, each(20'000, plain)));
    EXPECT_TRUE(got.capture.packets == read_bytes(plain).packets);
    EXPECT_TRUE(got.capture.warnings.empty());
}

TEST_F(ParallelInflate, cut_anywhere_gives_the_same) {
    const CaptureBytes file = noise_capture(20, 400);
    const CaptureBytes packed = in_members(file, {1500, 0, 1200, 3000, 10});
    for (std::size_t length = 4; length < packed.size(); length += step()) {
        expect_same(part_of(packed, 0, length), "cut at " + std::to_string(length));
    }
}

TEST_F(ParallelInflate, any_byte_changed_gives_the_same) {
    const CaptureBytes file = noise_capture(18, 300);
    const CaptureBytes small = pcap_sample({}, 300);
    for (const CaptureBytes& packed :
         {in_members(file, {1500, 0, 1200, 1300}, {.all_fields = true}),
          in_members(small, {5000, 9000, 8000})}) {
        for (std::size_t i = 0; i < packed.size(); i += step()) {
            constexpr std::array<std::uint8_t, 3> kChanges{0xFF, 1, 0x10};
            CaptureBytes changed = packed;
            changed[i] ^= kChanges.at(i / step() % 3);
            expect_same(changed, "byte " + std::to_string(i));
        }
    }
}

// Records are damaged under a valid checksum: the record reader gives up at the same place with the
// same rest.
TEST_F(ParallelInflate, damaged_record_leaves_the_same) {
    const CaptureBytes file = noise_capture(100, 400);
    for (std::size_t at = 24; at < file.size(); at += 416) {
        CaptureBytes damaged = file;
        damaged[at + 11] ^= 0xFF;
        for (const bool recover : {false, true}) {
            const std::string what = "record at " + std::to_string(at);
            expect_same(in_members(damaged, each(1700, file)), what, recover);
            expect_same(in_members(damaged, each(9000, file)), what, recover);
            expect_same(gzip(damaged), what, recover);
        }
    }
}

TEST_F(ParallelInflate, what_follows_gives_the_same) {
    const CaptureBytes file = noise_capture(60, 400);
    const CaptureBytes packed = in_members(file, each(2500, file));
    for (std::size_t i = 0; i < 10'000; i += i < 20 ? 1 : 1013) {
        const CaptureBytes zeros(i, 0);
        expect_same(packed + zeros, "zeros");
        expect_same(packed + zeros + CaptureBytes{7}, "zeros and a byte");
        expect_same(packed + sample_data(1, i), "garbage");
        expect_same(packed + CaptureBytes{0x1F} + zeros, "a first byte of magic");
        expect_same(packed + CaptureBytes{0x1F, 0x8B} + zeros, "magic");
        expect_same(packed + zeros + packed, "a member behind zeros");
        expect_same(packed + gzip(zeros) + packed, "a capture behind a capture");
    }
}

// Data that look like a member: stored blocks hold whole members.
TEST_F(ParallelInflate, members_in_members_cost_nothing_but_time) {
    const CaptureBytes inner = gzip(sample_data(3, 3000));
    CaptureBytes file = pcap_header({});
    for (unsigned i = 0; i < 200; ++i) {
        file += pcap_record({}, 1000, i, inner, static_cast<std::uint32_t>(inner.size()));
    }
    expect_same(gzip(file, {.stored = true}), "one member");
    expect_same(in_members(file, each(30'000, file), {.stored = true}), "several");
    const Got got = three_.read(in_members(file, each(30'000, file), {.stored = true}));
    EXPECT_TRUE(got.capture.packets == read_bytes(file).packets);
}

// A member ends with the last byte of a piece, or a byte before or after it.
TEST_F(ParallelInflate, members_may_end_where_pieces_do) {
    const CaptureBytes file = noise_capture(100, 400);
    for (std::size_t size = kPiece - 40; size <= kPiece; ++size) {
        expect_same(in_members(file, each(size, file), {.stored = true}), std::to_string(size));
    }
}

// Fails once, then continues.
class StumblingStream final : public capture::ByteStream {
  public:
    StumblingStream(CaptureBytes bytes, std::size_t at)
        : stream_(std::move(bytes), 1000), at_(at) {}

    Result<std::size_t> read(std::span<std::byte> to) override {
        if (stream_.taken() >= at_) {
            return fail(Errc::kIo, "sample: cannot be read: of the test");
        }
        return stream_.read(to);
    }
    [[nodiscard]] std::uint64_t taken() const override { return stream_.taken(); }
    [[nodiscard]] std::uint64_t size() const override { return stream_.size(); }

  private:
    MemoryStream stream_;
    std::size_t at_;
};

TEST_F(ParallelInflate, error_comes_behind_what_was_read_before) {
    const CaptureBytes file = noise_capture(100, 400);
    const CaptureBytes packed = in_members(file, each(1700, file));
    for (std::size_t at = 1000; at < packed.size(); at += 1000) {
        const Got serial = alone_.read(std::make_unique<StumblingStream>(packed, at));
        EXPECT_EQ(serial.capture.error, "sample: cannot be read: of the test");
        EXPECT_FALSE(serial.capture.packets.empty());
        const Got got = three_.read(std::make_unique<StumblingStream>(packed, at));
        EXPECT_EQ(got.capture.error, serial.capture.error);
        EXPECT_TRUE(got.capture.packets == serial.capture.packets) << at;
    }
}

// A pipe: the second half arrives once the first was consumed.
class HaltingStream final : public capture::ByteStream {
  public:
    HaltingStream(CaptureBytes first, CaptureBytes second, const bool& may_go_on)
        : first_(std::move(first)), second_(std::move(second)), may_go_on_(may_go_on) {}

    Result<std::size_t> read(std::span<std::byte> to) override {
        EXPECT_TRUE(ready()) << "it would wait for ever";
        return has_more() ? first_.read(to) : second_.read(to);
    }
    [[nodiscard]] bool ready() const override { return has_more() || may_go_on_; }
    [[nodiscard]] std::uint64_t taken() const override { return first_.taken() + second_.taken(); }
    [[nodiscard]] std::uint64_t size() const override { return 0; }

  private:
    [[nodiscard]] bool has_more() const { return first_.taken() < first_.size(); }

    MemoryStream first_;
    MemoryStream second_;
    const bool& may_go_on_;
};

TEST_F(ParallelInflate, nobody_waits_for_more_than_there_is) {
    const CaptureBytes first = pcap_sample({}, 20);
    const CaptureBytes second = pcap_record({}, 2000, 1, sample_data(1, 9), 9);
    for (const Reading* const reading : {&alone_, &one_, &three_}) {
        bool may_go_on = false;
        const auto source = reading->open(std::make_unique<HaltingStream>(
            in_members(first, each(1000, first)), gzip(second), may_go_on));
        ASSERT_TRUE(source);
        std::size_t packets = 0;
        capture::Batch batch;
        while (packets < 20) {
            ASSERT_TRUE(*(*source)->next(batch));
            packets += batch.records.size();
        }
        may_go_on = true;
        ASSERT_TRUE(*(*source)->next(batch));
        EXPECT_EQ(batch.records.size(), 1U);
        EXPECT_FALSE(*(*source)->next(batch));
    }
}

TEST_F(ParallelInflate, reading_may_end_at_any_time) {
    const CaptureBytes file = noise_capture(300, 400);
    const CaptureBytes packed = in_members(file, each(1700, file));
    for (unsigned batches = 0; batches < 30; ++batches) {
        const auto source = three_.open(std::make_unique<MemoryStream>(packed));
        ASSERT_TRUE(source);
        capture::Batch batch;
        for (unsigned i = 0; i < batches; ++i) {
            ASSERT_TRUE((*source)->next(batch));
        }
    }
    for (unsigned i = 0; i < 30; ++i) {
        const Reading reading(2);
        EXPECT_TRUE(reading.open(std::make_unique<MemoryStream>(packed)));
    }
}

// Threads do inflate ahead: given time, their result is found and used.
TEST_F(ParallelInflate, runs_are_met) {
    const CaptureBytes data = sample_data(5, 50'000);
    CaptureBytes members;
    std::vector<std::uint64_t> begins;
    for (std::size_t at = 0; at < data.size(); at += 5000) {
        begins.push_back(members.size());
        members += gzip(part_of(data, at, at + 5000), {.stored = true});
    }
    capture::InflateQueue ahead(std::make_shared<InflatePool>(1), 1U << 14);
    const auto bytes = std::make_shared<capture::Bytes>(1 + members.size());
    std::transform(members.begin(), members.end(), bytes->begin() + 1,
                   [](std::uint8_t byte) { return std::byte{byte}; });
    ahead.put({bytes, 0, members.size()});
    while (ahead.begun() < 2) {  // in order
        std::this_thread::yield();
    }
    ASSERT_TRUE(ahead.attach_at(begins[1]));
    std::array<std::byte, 5000> got{};
    ASSERT_EQ(ahead.read_inflated(got), got.size());
    EXPECT_TRUE(std::equal(got.begin(), got.end(), data.begin() + 5000,
                           [](std::byte a, std::uint8_t b) { return a == std::byte{b}; }));
    EXPECT_EQ(ahead.member(), begins[1]);
}

#ifndef UNECHO_HAS_TSAN
// Gives inflating threads a chance to run between any two pieces.
class PatientStream final : public capture::ByteStream {
  public:
    explicit PatientStream(const CaptureBytes& bytes) : stream_(bytes) {}

    Result<std::size_t> read(std::span<std::byte> to) override {
        const unsigned before = allocations_of_others;
        for (unsigned i = 0; i < 1000 && allocations_of_others == before; ++i) {
            std::this_thread::yield();
        }
        return stream_.read(to);
    }
    [[nodiscard]] std::uint64_t taken() const override { return stream_.taken(); }
    [[nodiscard]] std::uint64_t size() const override { return stream_.size(); }

  private:
    MemoryStream stream_;
};

TEST_F(ParallelInflate, what_threads_have_no_memory_for_is_left_to_the_reader) {
    const CaptureBytes file = noise_capture(300, 400);
    const CaptureBytes packed = in_members(file, each(1700, file));
    const Got serial = alone_.read(packed);
    unsigned failed = 0;
    for (unsigned number = 1; number < 60; ++number) {
        const Reading reading(1);
        allocations_of_others = 0;
        failing_allocation_of_others = number;
        const Got got = reading.read(std::make_unique<PatientStream>(packed));
        failing_allocation_of_others = 0;
        failed += allocations_of_others >= number ? 1 : 0;
        EXPECT_TRUE(got.capture.packets == serial.capture.packets) << number;
        EXPECT_EQ(got.capture.error, serial.capture.error) << number;
        EXPECT_EQ(told(got.capture), told(serial.capture)) << number;
    }
    EXPECT_GT(failed, 0U);
}
#endif

}  // namespace
