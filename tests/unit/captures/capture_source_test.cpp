// SPDX-License-Identifier: BSD-3-Clause
#include "captures/formats/capture_source.h"

#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/capture_builder.h"

namespace {

using namespace unecho;
using namespace unecho::test;
using capture::Batch;

constexpr const char* kAllowedInputs =
    "; allowed: pcap, pcapng and snoop, also compressed with gzip, zstd or lz4";

std::unique_ptr<capture::Source> open(const CaptureBytes& bytes, std::size_t buffer_bytes) {
    auto source =
        capture::open_capture_source(std::make_unique<MemoryStream>(bytes), "sample", buffer_bytes);
    EXPECT_TRUE(source);
    return std::move(*source);
}

TEST(Input, any_buffer_and_piece_size_gives_the_same) {
    const CaptureBytes file = pcap_sample({}, 50);
    const ReadCapture whole = read_bytes(file);
    ASSERT_EQ(whole.packets.size(), 50U);
    for (const std::size_t buffer : {1U, 2U, 15U, 16U, 17U, 38U, 64U, 100U, 4096U}) {
        for (const std::size_t piece : {1U, 3U, 16U, 64U, 100'000U}) {
            const ReadCapture got = read_bytes(file, buffer, piece);
            EXPECT_EQ(got.packets, whole.packets) << buffer << " " << piece;
            EXPECT_TRUE(got.warnings.empty());
        }
    }
}

TEST(Input, record_larger_than_the_buffer_is_given) {
    const PcapSpec spec;
    const CaptureBytes data = sample_data(3, 10'000);
    const CaptureBytes small = pcap_record(spec, 1, 3, sample_data(1, 5), 5);
    const CaptureBytes large = pcap_record(spec, 1, 3, data, 9);
    const CaptureBytes file = pcap_header(spec) + small + large + small + large + small;
    for (const std::size_t piece : {7U, 100U, 100'000U}) {
        const ReadCapture got = read_bytes(file, 100, piece);
        ASSERT_EQ(got.packets.size(), 5U);
        for (unsigned i = 0; i < 5; ++i) {
            EXPECT_EQ(got.packets[i].data, i % 2 == 0 ? sample_data(1, 5) : data);
        }
        EXPECT_TRUE(got.warnings.empty());
    }
}

TEST(Input, batch_keeps_its_packets_while_others_are_read) {
    const CaptureBytes file = pcap_sample({}, 200);
    const ReadCapture whole = read_bytes(file);
    const auto source = open(file, 64);
    std::vector<Batch> kept;
    for (Batch batch; *source->next(batch); batch = {}) {
        kept.push_back(std::move(batch));
    }
    std::size_t i = 0;
    for (const Batch& batch : kept) {
        for (const capture::Record& record : batch.records) {
            EXPECT_EQ(CaptureBytes(record.data, record.data + record.length),
                      whole.packets[i++].data);
        }
    }
    EXPECT_EQ(i, 200U);
}

TEST(Input, memory_of_batches_is_used_again) {
    const auto source = open(pcap_sample({}, 2000), 128);
    std::set<const void*> memory;
    for (Batch batch; *source->next(batch);) {
        for (const auto& bytes : batch.memory) {
            memory.insert(bytes->data());
        }
    }
    EXPECT_LE(memory.size(), 2U);
}

TEST(Input, batches_may_be_freed_on_another_thread) {
    const CaptureBytes file = pcap_sample({}, 5000);
    const auto source = open(file, 256);
    std::mutex mutex;
    std::deque<Batch> waiting;
    bool done = false;
    std::size_t bytes = 0;
    std::thread consumer([&] {
        for (bool last = false; !last;) {
            std::deque<Batch> taken;
            {
                const std::lock_guard lock(mutex);
                taken.swap(waiting);
                last = done;
            }
            for (const Batch& batch : taken) {
                for (const capture::Record& record : batch.records) {
                    EXPECT_EQ(CaptureBytes(record.data, record.data + record.length),
                              sample_data(static_cast<unsigned>(record.number - 1), record.length));
                    bytes += record.length;
                }
            }
        }
    });
    for (Batch batch; *source->next(batch); batch = {}) {
        const std::lock_guard lock(mutex);
        waiting.push_back(std::move(batch));
    }
    {
        const std::lock_guard lock(mutex);
        done = true;
    }
    consumer.join();
    EXPECT_EQ(bytes, file.size() - 24 - 5000 * 16);
}

TEST(Input, batch_never_exceeds_its_limit) {
    const PcapSpec spec;
    CaptureBytes file = pcap_header(spec);
    const CaptureBytes record = pcap_record(spec, 1, 1, {}, 0);
    for (std::size_t i = 0; i < 2 * capture::kMaxBatch + 1; ++i) {
        file.insert(file.end(), record.begin(), record.end());
    }
    const auto source = open(file, 1U << 20);
    std::vector<std::size_t> sizes;
    for (Batch batch; *source->next(batch);) {
        sizes.push_back(batch.records.size());
    }
    EXPECT_EQ(sizes, (std::vector<std::size_t>{capture::kMaxBatch, capture::kMaxBatch, 1}));
}

TEST(Input, after_the_end_there_is_no_more) {
    const auto source = open(pcap_sample({}, 1), 4096);
    Batch batch;
    EXPECT_TRUE(*source->next(batch));
    EXPECT_FALSE(*source->next(batch));
    EXPECT_TRUE(batch.records.empty());
    EXPECT_TRUE(batch.memory.empty());
    EXPECT_FALSE(*source->next(batch));
}

TEST(Input, time_that_steps_back_is_given_and_told_once) {
    const PcapSpec spec;
    CaptureBytes file = pcap_header(spec);
    for (const std::uint32_t microsecond : {5U, 7U, 6U, 6U, 7U, 3U}) {
        file += pcap_record(spec, 1, microsecond, sample_data(1, 1), 1);
    }
    const ReadCapture got = read_bytes(file);
    ASSERT_EQ(got.packets.size(), 6U);
    EXPECT_EQ(got.packets[2].time, kSecond + 6 * kMicrosecond);
    ASSERT_EQ(got.warnings.size(), 1U);
    EXPECT_EQ(got.warnings[0].text, "time steps back");
    EXPECT_EQ(got.warnings[0].number, 3U);
    EXPECT_EQ(got.warnings[0].times, 3U);
}

TEST(Input, no_capture_says_what_it_is) {
    const auto error_of = [](const std::string& content) {
        return read_bytes({content.begin(), content.end()}).error;
    };
    EXPECT_EQ(error_of(""), std::string("sample: empty") + kAllowedInputs);
    EXPECT_EQ(error_of("abc"), std::string("sample: too short, 3 bytes") + kAllowedInputs);
    EXPECT_EQ(
        error_of("\xFF\xD8\xFF\xE0....JFIF"),
        std::string("sample: no capture: begins with ff d8 ff e0, a JPEG image") + kAllowedInputs);
    EXPECT_EQ(error_of("\x7F"
                       "ELF\2\1\1"),
              std::string("sample: no capture: begins with 7f 45 4c 46, an ELF program") +
                  kAllowedInputs);
    EXPECT_EQ(error_of("Hello, world\nand more\n"),
              std::string("sample: no capture: begins with 48 65 6c 6c, the text \"Hello, "
                          "world\"") +
                  kAllowedInputs);
    const std::string erf("\x00\x47\x2F\x00\x5D\x1A\x6C\x4A\x02\x04\x00\x54\x00\x00\x00\x40", 16);
    const std::string converts = "which editcap -F pcap converts";
    EXPECT_EQ(error_of(erf), std::string("sample: no capture: begins with 00 47 2f 00, an ERF "
                                         "capture (Ethernet), ") +
                                 converts + kAllowedInputs);
    std::string with_extensions = erf;
    with_extensions[8] = '\x95';
    EXPECT_NE(error_of(with_extensions).find("(InfiniBand), " + converts), std::string::npos);
    for (const auto& [at, byte] : {std::pair{7, '\0'}, {8, '\x7F'}, {11, '\x0F'}}) {
        std::string other = erf;
        other[static_cast<std::size_t>(at)] = byte;
        EXPECT_EQ(error_of(other),
                  std::string("sample: no capture: begins with 00 47 2f 00") + kAllowedInputs);
    }
    const std::string metadata("\0\0\0\0\0\0\0\0\x9B\x04\0\x10\0\0\0\0", 16);
    EXPECT_NE(error_of(metadata).find("ERF capture (metadata)"), std::string::npos);
    EXPECT_NE(error_of(metadata + metadata + erf).find("ERF capture (Ethernet)"),
              std::string::npos);
    const std::string second_is_none = erf + std::string(0x54, '\0');
    EXPECT_EQ(error_of(second_is_none).find("ERF"), std::string::npos);
    EXPECT_EQ(error_of("\1\2\3\4\5"),
              std::string("sample: no capture: begins with 01 02 03 04") + kAllowedInputs);
}

// Fails after its last byte.
class FailingStream final : public capture::ByteStream {
  public:
    explicit FailingStream(CaptureBytes bytes) : bytes_(std::move(bytes)) {}
    Result<std::size_t> read(std::span<std::byte> to) override {
        return bytes_.taken() < bytes_.size() ? bytes_.read(to)
                                              : fail(Errc::kIo, "sample: cannot be read: no disk");
    }
    [[nodiscard]] std::uint64_t taken() const override { return bytes_.taken(); }
    [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }

  private:
    MemoryStream bytes_;
};

TEST(Input, reading_error_comes_after_what_was_read) {
    const CaptureBytes file = pcap_sample({}, 5);
    const auto source =
        capture::open_capture_source(std::make_unique<FailingStream>(file), "sample", 64);
    ASSERT_TRUE(source);
    const ReadCapture got = read_all(**source);
    EXPECT_EQ(got.packets, read_bytes(file).packets);
    EXPECT_EQ(got.error, "sample: cannot be read: no disk");
    Batch batch;
    const Result<bool> more = (*source)->next(batch);
    ASSERT_TRUE(more);
    EXPECT_FALSE(*more);

    const auto none =
        capture::open_capture_source(std::make_unique<FailingStream>(CaptureBytes{}), "sample");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::kIo);
}

// A record larger than a piece is counted while it is in flight: it fits, or the error says so.
TEST(Input, large_records_count_as_memory) {
    constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
    const CaptureBytes large(3U << 20U);
    CaptureBytes file = pcap_header({}) + pcap_record({}, 1, 1, large, 3U << 20U);
    file += pcap_record({}, 2, 1, CaptureBytes(60), 60);
    const auto budget = [](std::uint64_t memory) {
        auto out = std::make_shared<capture::MemoryBudget>(memory, 0);
        out->reserve({.inputs = 1});
        return out;
    };
    const auto read = [&](const std::shared_ptr<capture::MemoryBudget>& some) {
        const auto source = capture::open_capture_source(
            std::make_unique<MemoryStream>(file), "large.pcap",
            {std::make_shared<capture::BufferPool>(std::size_t{64} << 10U), some, false, nullptr});
        return source ? read_all(**source) : ReadCapture();
    };
    const auto tight = budget(kMiB);  // below what the process already uses
    EXPECT_EQ(read(tight).error,
              "large.pcap: a record or block of 3 MiB is more than --memory 1MiB has room for by "
              "now; more may do");
    const auto enough = budget(std::uint64_t{1} << 40U);
    EXPECT_EQ(read(enough).packets.size(), 2U);
    for (const auto& used : {tight, enough}) {
        EXPECT_EQ(used->taken(), 0U) << "given back";
    }
}

}  // namespace
