// SPDX-License-Identifier: BSD-3-Clause
// Outputs of live packets, which cannot be captured again: packets already written stay complete.
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "captures/open_captures.h"
#include "captures/output/output.h"
#include "captures/output/writer.h"
#include "support/capture_builder.h"
#include "unit/captures/folder.h"

namespace unecho::capture {
namespace {

constexpr OutputOptions kLive{.live = true};
constexpr Nanoseconds kTime = 1'700'000'000 * kSecond;

std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

// Limits the size of files during its lifetime, like a full disk.
class FileLimit {
  public:
    explicit FileLimit(rlim_t most) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{.rlim_cur = most, .rlim_max = before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FileLimit(const FileLimit&) = delete;
    FileLimit& operator=(const FileLimit&) = delete;

  private:
    rlimit before_{};
    sighandler_t handler_;
};

// Packets of 0 to 1,499 bytes, with one in the middle that is larger than any buffer.
struct Packets {
    std::vector<std::string> data;
    std::vector<Record> records;

    explicit Packets(unsigned count) {
        constexpr std::size_t kLarge = 200'000;
        for (unsigned i = 0; i < count; ++i) {
            data.emplace_back(i == count / 2 ? kLarge : i * 977 % 1500, static_cast<char>(i));
        }
        for (unsigned i = 0; i < count; ++i) {
            const auto length = static_cast<std::uint32_t>(data[i].size());
            records.push_back({.time = kTime + i,
                               .data = reinterpret_cast<const std::uint8_t*>(data[i].data()),
                               .length = length,
                               .wire_length = length,
                               .interface = 0,
                               .number = i + 1});
        }
    }
};

const std::vector<Interface>& ethernet() {
    static const std::vector<Interface> one{
        {.link_type = 1, .snap_length = 262144, .tick = 1, .file = 0, .name = "eth0"}};
    return one;
}

std::vector<std::uint64_t> all(std::size_t records) {
    return std::vector<std::uint64_t>((records + 63) / 64, ~std::uint64_t{0});
}

Status write_some(Writer& writer, std::span<const Record> records) {
    return writer.write(records, all(records.size()), ethernet());
}

struct Read {
    std::vector<std::string> data;
    std::size_t warnings = 0;
};

// Return nothing if the file cannot be read at all.
std::optional<Read> read_all(const std::string& path) {
    const auto source = open_capture(path);
    if (!source) {
        return std::nullopt;
    }
    const test::ReadCapture got = test::read_all(**source);
    Read out{{}, got.warnings.size()};
    for (const test::ReadPacket& packet : got.packets) {
        out.data.emplace_back(packet.data.begin(), packet.data.end());
    }
    return got.error.empty() ? std::optional(out) : std::nullopt;
}

TEST(LiveOutput, has_its_name_from_the_beginning) {
    const Folder folder;
    const auto out = Output::create(folder.file("out.bin"), kLive);
    ASSERT_TRUE(out);
    EXPECT_EQ(folder.names(), std::set<std::string>{"out.bin"});
    ASSERT_TRUE((*out)->write(bytes("half")));
    EXPECT_EQ(folder.get("out.bin"), "half");
}

TEST(LiveOutput, nothing_written_leaves_what_was_there_and_nothing_new) {
    const Folder folder;
    folder.put("old.bin", "old");
    for (const char* name : {"old.bin", "new.bin"}) {
        ASSERT_TRUE(Output::create(folder.file(name), kLive));
    }
    EXPECT_EQ(folder.names(), std::set<std::string>{"old.bin"});
    EXPECT_EQ(folder.get("old.bin"), "old");
}

TEST(LiveOutput, a_file_that_was_there_is_replaced) {
    const Folder folder;
    for (const std::string_view text : {"new", ""}) {
        folder.put("old.bin", "longer than what comes");
        const auto out = Output::create(folder.file("old.bin"), kLive);
        ASSERT_TRUE(out);
        ASSERT_TRUE((*out)->write(bytes(text)));
        ASSERT_TRUE((*out)->close());
        EXPECT_EQ(folder.get("old.bin"), text);
    }
}

TEST(LiveOutput, missing_directory_is_named) {
    const Folder folder;
    const std::string path = folder.file("none/out.bin");
    const auto out = Output::create(path, kLive);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().context, path + ": its directory does not exist");
}

TEST(LiveOutput, behind_a_symbolic_link_the_link_stays) {
    const Folder folder;
    std::filesystem::create_symlink("real.bin", folder.file("link.bin"));
    const auto out = Output::create(folder.file("link.bin"), kLive);
    ASSERT_TRUE(out);
    ASSERT_TRUE((*out)->write(bytes("text")));
    ASSERT_TRUE((*out)->close());
    EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link.bin")));
    EXPECT_EQ(folder.get("real.bin"), "text");
}

// The disk is full at any place: in a header, between packets, in one, in the large one.
TEST(LiveWriter, full_disk_leaves_whole_packets) {
    const Packets packets(600);
    for (const std::string name : {"out.pcap", "out.pcapng"}) {
        std::size_t most = 0;
        for (const rlim_t limit : {24U, 200U, 1000U, 5000U, 100'003U, 131'072U, 200'001U, 300'000U,
                                   420'000U, 500'011U}) {
            SCOPED_TRACE(name + " " + std::to_string(limit));
            const Folder folder;
            const std::string path = folder.file(name);
            std::string said;
            {
                auto writer = create_capture(path, std::nullopt, FileFormat::kPcap, kLive);
                ASSERT_TRUE(writer);
                const FileLimit full(limit);
                Status status = (*writer)->begin(ethernet());
                for (std::size_t i = 0; status && i < packets.records.size(); i += 100) {
                    status = write_some(**writer, std::span(packets.records).subspan(i, 100));
                }
                status = status ? (*writer)->close() : status;
                ASSERT_FALSE(status);
                said = status.error().context;
            }
            const auto read = read_all(path);
            if (!read) {
                EXPECT_LT(limit, 300U);  // not even the header fitted
                EXPECT_FALSE(std::filesystem::exists(path));
                continue;
            }
            EXPECT_EQ(read->warnings, 0U);
            const std::size_t count = read->data.size();
            ASSERT_LT(count, packets.data.size());
            for (std::size_t i = 0; i < count; ++i) {
                ASSERT_EQ(read->data[i], packets.data[i]);
            }
            EXPECT_GT(std::filesystem::file_size(path) + packets.data[count].size() + 36, limit);
            EXPECT_EQ(said, path + ": cannot be written: File too large" +
                                (count == 0 ? ""
                                            : "; the " + std::to_string(count) +
                                                  " packets in it are whole"));
            most = std::max(most, count);
        }
        EXPECT_GT(most, 300U);  // behind the large one
    }
}

// Frames end now and then. A file that ends after a frame is a valid compressed file.
TEST(LiveWriter, full_disk_leaves_whole_frames_of_a_compressed_file) {
    const Packets packets(600);
    for (const std::string name : {"out.pcap.gz", "out.pcapng.zst", "out.pcap.lz4"}) {
        SCOPED_TRACE(name);
        const Folder folder;
        const std::string path = folder.file(name);
        std::string said;
        {
            auto writer = create_capture(path, std::nullopt, FileFormat::kPcap, kLive);
            ASSERT_TRUE(writer);
            ASSERT_TRUE((*writer)->begin(ethernet()));
            ASSERT_TRUE(write_some(**writer, std::span(packets.records).first(100)));
            const auto before = std::filesystem::file_size(path);
            while (std::filesystem::file_size(path) == before) {
                ASSERT_TRUE(write_some(**writer, {}));  // time passes
            }
            const FileLimit full(std::filesystem::file_size(path) + 50);
            Status status = write_some(**writer, std::span(packets.records).subspan(100));
            status = status ? (*writer)->close() : status;
            ASSERT_FALSE(status);
            said = status.error().context;
        }
        EXPECT_EQ(said,
                  path + ": cannot be written: File too large; the 100 packets in it are whole");
        const auto read = read_all(path);
        ASSERT_TRUE(read);
        EXPECT_EQ(read->warnings, 0U);
        EXPECT_EQ(read->data, std::vector(packets.data.begin(), packets.data.begin() + 100));
    }
}

// The file behind standard output may have been written to before.
TEST(LiveWriter, full_disk_behind_a_descriptor_leaves_what_was_there) {
    const Packets packets(600);
    const Folder folder;
    folder.put("out.pcap", "");
    const int file = ::open(folder.file("out.pcap").c_str(), O_WRONLY);
    ASSERT_GE(file, 0);
    {
        auto writer = create_capture("/dev/fd/" + std::to_string(file), std::nullopt,
                                     FileFormat::kPcap, kLive);
        ASSERT_TRUE(writer);
        const FileLimit full(100'000);
        ASSERT_TRUE((*writer)->begin(ethernet()));
        Status status = write_some(**writer, packets.records);
        ASSERT_FALSE(status);
    }
    ::close(file);
    const auto read = read_all(folder.file("out.pcap"));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->warnings, 0U);
    EXPECT_GT(read->data.size(), 100U);
}

TEST(LiveWriter, killed_it_leaves_what_was_passed_on) {
    const Packets packets(40);
    for (const std::string name : {"out.pcap", "out.pcapng", "out.pcap.gz"}) {
        SCOPED_TRACE(name);
        const Folder folder;
        auto writer = create_capture(folder.file(name), std::nullopt, FileFormat::kPcap, kLive);
        ASSERT_TRUE(writer);
        ASSERT_TRUE((*writer)->begin(ethernet()));
        const auto empty = read_all(folder.file(name));  // the header is written at once
        ASSERT_TRUE(empty);
        EXPECT_TRUE(empty->data.empty());
        ASSERT_TRUE(write_some(**writer, packets.records));
        std::optional<Read> read;
        do {
            ASSERT_TRUE(write_some(**writer, {}));
            read = read_all(folder.file(name));
            ASSERT_TRUE(read);
        } while (read->data.size() < packets.data.size());
        EXPECT_EQ(read->warnings, 0U);
        EXPECT_EQ(read->data, packets.data);
        ASSERT_TRUE((*writer)->close());
        EXPECT_EQ(read_all(folder.file(name))->data, packets.data);
    }
}

class LivePipe : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0);
        auto out =
            Output::create("/dev/fd/" + std::to_string(ends_[1]), {.live = true, .stop = &stop_});
        ASSERT_TRUE(out);
        out_ = *std::move(out);
        ::close(ends_[1]);
    }
    void TearDown() override { ::close(ends_[0]); }

    std::array<int, 2> ends_{};
    std::atomic<bool> stop_{false};
    std::unique_ptr<Output> out_;
};

TEST_F(LivePipe, told_to_end_it_does_not_wait_for_a_reader_that_takes_nothing) {
    const std::string text(1 << 20, 'x');
    std::thread later([&] { stop_ = true; });
    const Status status = out_->write(bytes(text));
    later.join();
    ASSERT_FALSE(status);
    const std::string taken = std::to_string(out_->taken());
    EXPECT_EQ(status.error().context, "/dev/fd/" + std::to_string(ends_[1]) +
                                          ": told to end, and its reader takes no more; " +
                                          taken.substr(0, taken.size() - 3) + "," +
                                          taken.substr(taken.size() - 3) + " bytes");
    EXPECT_GE(out_->taken(), 4096U);
}

TEST_F(LivePipe, told_to_end_it_waits_for_a_reader_that_takes_something) {
    stop_ = true;
    const std::string text(1 << 19, 'x');
    std::size_t got = 0;
    std::thread reader([&] {
        std::array<char, 4096> part;
        for (ssize_t count = 0; (count = ::read(ends_[0], part.data(), part.size())) > 0;) {
            got += static_cast<std::size_t>(count);
        }
    });
    EXPECT_TRUE(out_->write(bytes(text)));
    EXPECT_TRUE(out_->close());
    reader.join();
    EXPECT_EQ(got, text.size());
}

}  // namespace
}  // namespace unecho::capture
