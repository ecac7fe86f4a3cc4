// SPDX-License-Identifier: BSD-3-Clause
#include "captures/open_captures.h"

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "support/capture_builder.h"
#include "unit/captures/folder.h"

namespace {

using namespace unecho;
using namespace unecho::test;
using capture::open_capture;

class Reader : public testing::Test {
  protected:
    [[nodiscard]] std::string path(const std::string& name) const { return folder_.file(name); }
    void write(const std::string& name, const CaptureBytes& bytes) const {
        folder_.put(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    [[nodiscard]] std::string file(const std::string& name, const CaptureBytes& bytes) const {
        write(name, bytes);
        return path(name);
    }

  private:
    capture::Folder folder_;
};

TEST_F(Reader, named_pipe_gives_its_packets_and_has_no_size) {
    const CaptureBytes bytes = pcap_sample({}, 5000);
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    std::thread writer([&] { write("pipe", bytes); });
    const auto source = open_capture(path("pipe"));
    ASSERT_TRUE(source);
    EXPECT_EQ((*source)->progress().total, 0U);
    const ReadCapture got = read_all(**source);
    writer.join();
    EXPECT_EQ(got.packets, read_bytes(bytes).packets);
    EXPECT_EQ((*source)->progress().done, bytes.size());
}

// Replaces the test's standard input during its lifetime.
class StandardInput {
  public:
    explicit StandardInput(const std::string& path)
        : StandardInput(::open(path.c_str(), O_RDONLY)) {}
    explicit StandardInput(int file) : before_(::dup(STDIN_FILENO)) {
        ::dup2(file, STDIN_FILENO);
        ::close(file);
    }
    ~StandardInput() {
        ::dup2(before_, STDIN_FILENO);
        ::close(before_);
    }
    StandardInput(const StandardInput&) = delete;
    StandardInput& operator=(const StandardInput&) = delete;

  private:
    int before_;
};

TEST_F(Reader, dash_is_standard_input_and_stays_open) {
    const CaptureBytes bytes = pcap_sample({}, 20);
    const StandardInput input(file("a.pcap", bytes));
    {
        const auto source = open_capture("-");
        ASSERT_TRUE(source);
        EXPECT_EQ(read_all(**source).packets, read_bytes(bytes).packets);
        EXPECT_EQ((*source)->progress().total, bytes.size());
    }
    EXPECT_EQ(::lseek(STDIN_FILENO, 0, SEEK_CUR), static_cast<off_t>(bytes.size()));
    const auto rest = open_capture("-");
    ASSERT_FALSE(rest);
    EXPECT_EQ(rest.error().context,
              "standard input: empty; allowed: pcap, pcapng and snoop, also compressed with gzip, "
              "zstd or lz4");
}

TEST_F(Reader, pipe_that_does_not_block_is_waited_for) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    const StandardInput input(ends[0]);
    const CaptureBytes bytes = pcap_sample({}, 20);
    std::thread writer([&] {
        for (const std::uint8_t& byte : bytes) {
            EXPECT_EQ(::write(ends[1], &byte, 1), 1);
        }
        ::close(ends[1]);
    });
    const auto source = open_capture("-");
    EXPECT_TRUE(source);
    EXPECT_EQ(read_all(**source).packets, read_bytes(bytes).packets);
    writer.join();
}

// Limits the number of descriptors during its lifetime.
class DescriptorLimit {
  public:
    explicit DescriptorLimit(rlim_t files) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit fewer{files, before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &fewer);
    }
    ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    DescriptorLimit(const DescriptorLimit&) = delete;
    DescriptorLimit& operator=(const DescriptorLimit&) = delete;

  private:
    rlimit before_{};
};

// A ring of files, and taps whose packets overlap.
TEST_F(Reader, many_files_are_merged_and_descriptors_are_no_limit) {
    constexpr unsigned kFiles = 120;
    const DescriptorLimit limit(40);
    for (const bool taps : {false, true}) {
        std::vector<std::string> names;
        for (unsigned i = 0; i < kFiles; ++i) {
            CaptureBytes bytes = pcap_header({});
            for (std::uint32_t k = 0; k < 3; ++k) {
                bytes += pcap_record({}, taps ? k * kFiles + i : i * 3 + k, 0,
                                     CaptureBytes{std::uint8_t(i)}, 1);
            }
            names.push_back(file(std::to_string(i), i % 2 == 0 ? bytes : gzip(bytes)));
        }
        const auto source = capture::open_captures(names);
        ASSERT_TRUE(source) << source.error().context;
        const ReadCapture got = read_all(**source);
        EXPECT_EQ(got.error, "");
        ASSERT_EQ(got.packets.size(), 3 * kFiles);
        for (unsigned i = 0; i < got.packets.size(); ++i) {
            EXPECT_EQ(got.packets[i].time, i * kSecond);
            EXPECT_EQ(got.packets[i].data[0], taps ? i % kFiles : i / 3);
        }
    }
}

TEST_F(Reader, file_that_is_another_one_when_its_time_has_come_is_an_error) {
    std::vector<std::string> names;
    for (unsigned i = 0; i < capture::kManyInputs; ++i) {
        names.push_back(file(std::to_string(i), pcap_header({}) + pcap_record({}, i, 0, {}, 0)));
    }
    const auto source = capture::open_captures(names);
    ASSERT_TRUE(source);
    capture::Batch batch;
    std::filesystem::remove(names.back());
    const Result<bool> more = (*source)->next(batch);
    const ReadCapture rest = read_all(**source);
    const std::string gone = names.back() + ": is not there any more, or another file is";
    EXPECT_EQ(more ? rest.error : more.error().context, gone);
}

TEST_F(Reader, missing_file_among_many_is_told_before_anything_is_read) {
    std::vector<std::string> names(capture::kManyInputs, file("a", pcap_sample({}, 3)));
    names.push_back(path("none"));
    const auto source = capture::open_captures(names);
    ASSERT_FALSE(source);
    EXPECT_EQ(source.error().code, Errc::kNotFound);
}

TEST_F(Reader, inputs_that_overlap_beyond_the_memory_are_told_with_what_is_needed) {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < 100; ++i) {
        const CaptureBytes bytes =
            pcap_header({}) + pcap_record({}, i, 0, {}, 0) + pcap_record({}, 200, 0, {}, 0);
        names.push_back(file(std::to_string(i) + ".gz", gzip(bytes)));
    }
    const std::uint64_t beside = std::uint64_t{10} << 20U;
    const auto read = [&](std::uint64_t memory) {
        const auto budget = std::make_shared<capture::MemoryBudget>(memory, beside);
        const auto source = capture::open_captures(names, kNoEpochs, budget);
        EXPECT_TRUE(source);
        ReadCapture got = read_all(**source);
        EXPECT_LE(budget->reserved(), memory / 4);
        return got;
    };
    const ReadCapture failed = read(std::uint64_t{40} << 20U);
    EXPECT_NE(failed.error.find(" inputs have packets of the same time, "), std::string::npos)
        << failed.error;
    const std::string needed = failed.error.substr(failed.error.find("--memory ") + 9);
    const auto enough = parse_size(needed.substr(0, needed.find(' ')));
    ASSERT_TRUE(enough) << failed.error;
    const ReadCapture got = read(*enough);
    EXPECT_EQ(got.error, "");
    EXPECT_EQ(got.packets.size(), 200U);
}

TEST_F(Reader, what_cannot_be_opened_is_told_in_a_line) {
    const auto missing = open_capture(path("none.pcap"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Errc::kNotFound);
    EXPECT_EQ(missing.error().context,
              path("none.pcap") + ": cannot be opened: No such file or directory");

    const auto below_file = open_capture(file("a", {1, 2, 3, 4}) + "/b");
    ASSERT_FALSE(below_file);
    EXPECT_EQ(below_file.error().code, Errc::kNotFound);

    const auto folder = open_capture(path(""));
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().code, Errc::kUnsupported);
    EXPECT_EQ(folder.error().context, path("") +
                                          ": a directory; allowed: a pcap or pcapng file, "
                                          "or - for standard input");
}

TEST_F(Reader, inputs_that_cannot_be_merged_are_told) {
    const auto none = capture::open_captures({});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().context, "no capture given; allowed: one or more files, or -");

    const std::string good = file("a.pcap", pcap_sample({}, 1));
    const auto twice = capture::open_captures(std::vector<std::string>{"-", good, "-"});
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().code, Errc::kInvalidArgument);
    EXPECT_EQ(twice.error().context, "standard input (-) is given more than once; allowed: once");

    const auto missing = capture::open_captures(std::vector{good, path("none")});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Errc::kNotFound);
}

}  // namespace
