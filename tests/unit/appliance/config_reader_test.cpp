// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/reload/config_reader.h"

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace unecho::appliance {
namespace {

config::Problem problem(const char* message) {
    return {1, "run.name", message};
}

// A file on a mount whose server hangs. Its readers may outlive the test.
struct Hung {
    std::promise<void> server;
    std::shared_future<void> answer = server.get_future().share();
    std::atomic<unsigned> readers{0};
};

std::function<WantedResult()> reading(const std::shared_ptr<Hung>& file) {
    return [file]() -> WantedResult {
        ++file->readers;
        file->answer.wait();
        return tl::unexpected(std::vector<config::Problem>{problem("read")});
    };
}

TEST(ConfigReaderTest, gives_what_is_read) {
    ConfigReader reader([]() -> WantedResult {
        return tl::unexpected(std::vector<config::Problem>{problem("of the file")});
    });
    for (int i = 0; i < 3; ++i) {
        const Result<WantedResult> result = reader.read(60 * kSecond);
        ASSERT_TRUE(result) << result.error().context;
        ASSERT_FALSE(*result);
        EXPECT_EQ(result->error().front().message, "of the file");
    }
}

TEST(ConfigReaderTest, a_stop_waits_for_no_file) {
    const auto file = std::make_shared<Hung>();
    std::future<Result<WantedResult>> result;
    {
        ConfigReader reader(reading(file));
        result = std::async(std::launch::async, [&] { return reader.read(3600 * kSecond); });
        while (file->readers == 0) {
            std::this_thread::yield();
        }
        reader.stop();
        const Result<WantedResult> stopped = result.get();
        ASSERT_FALSE(stopped);
        EXPECT_EQ(stopped.error().code, Errc::kBusy);
        EXPECT_EQ(stopped.error().context, "it is stopping");
    }  // nor does its end
    file->server.set_value();
}

TEST(ConfigReaderTest, a_file_that_hangs_is_read_by_one_thread_and_again_when_it_answers) {
    const auto file = std::make_shared<Hung>();
    ConfigReader reader(reading(file));
    for (int i = 0; i < 3; ++i) {
        const Result<WantedResult> late = reader.read(10 * kMillisecond);
        ASSERT_FALSE(late);
        EXPECT_EQ(late.error().code, Errc::kBusy);
        EXPECT_EQ(late.error().context, "cannot be read: no answer for 10 ms");
    }
    EXPECT_LE(file->readers, 1U);
    file->server.set_value();
    const Result<WantedResult> result = reader.read(3600 * kSecond);
    ASSERT_TRUE(result) << result.error().context;
    EXPECT_EQ(file->readers, 2U);  // the result of the first reader is outdated
}

TEST(ConfigReaderTest, a_reading_that_throws_ends_nothing) {
    ConfigReader reader([]() -> WantedResult { throw std::runtime_error("a bug"); });
    const Result<WantedResult> result = reader.read(60 * kSecond);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::kIo);
    EXPECT_EQ(result.error().context, "cannot be read: a bug");
}

TEST(ConfigReaderTest, where_no_memory_is_left_it_says_so) {
    ConfigReader reader([]() -> WantedResult { throw std::bad_alloc(); });
    const Result<WantedResult> result = reader.read(60 * kSecond);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::kNoMemory);
}

}  // namespace
}  // namespace unecho::appliance
