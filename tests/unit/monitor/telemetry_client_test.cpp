// SPDX-License-Identifier: BSD-3-Clause
// Tests the client against a socket that behaves like DPDK's, or misbehaves.
#include "monitor/client/telemetry_client.h"

#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_appliance.h"

namespace unecho::monitor {
namespace {

constexpr Nanoseconds kLong = 20 * kSecond;  // longer than any answer here takes
constexpr Nanoseconds kShort = kMillisecond;

class TelemetryClientTest : public WithFolder {
  protected:
    ~TelemetryClientTest() override {
        for (const int number : {listening_, peer_}) {
            if (number >= 0) {
                close(number);
            }
        }
    }

    [[nodiscard]] std::string path() const { return folder_ + "/socket"; }

    // Connect to a socket that sends this greeting.
    Result<TelemetryClient> connect(const std::string& greeting = R"({"max_output_len": 16384})",
                                    Nanoseconds patience = kLong) {
        std::thread accepting([&] {
            peer_ = accept(listening_, nullptr, nullptr);
            say(greeting);
        });
        auto client = TelemetryClient::connect(path(), patience);
        accepting.join();
        return client;
    }

    void say(const std::string& text) const {
        if (!text.empty()) {
            EXPECT_EQ(send(peer_, text.data(), text.size(), MSG_NOSIGNAL),
                      static_cast<ssize_t>(text.size()));
        }
    }
    [[nodiscard]] std::string heard() const {
        std::string text(1000, ' ');
        text.resize(static_cast<std::size_t>(recv(peer_, text.data(), text.size(), 0)));
        return text;
    }

    int listening_ = listen_at(path());
    int peer_ = -1;
};

// Text is escaped and cut on arrival, so no code that shows it has to do so.
TEST_F(TelemetryClientTest, takes_no_text_that_speaks_to_a_terminal) {
    auto client = connect(R"({"max_output_len": 65536})");
    ASSERT_TRUE(client) << client.error().context;
    const Json said = {{"/x",
                        {{"a\x1B\nb",
                          "\x1B[31m\xC2\x9B"
                          "z\nend"},
                         {"list", {"\x7F", 5}}}}};
    say(said.dump());
    EXPECT_EQ(*client->query("/x"), Json::parse(R"({"a\\x1b\\x0ab": "\\x1b[31m\\xc2\\x9bz\\x0aend",
                                                 "list": ["\\x7f", 5]})"));
    say(said.dump());
    const auto lines = client->query("/x", TelemetryClient::Text::kLines);
    EXPECT_EQ((*lines)["a\\x1b\\x0ab"], "\\x1b[31m\\xc2\\x9bz\nend");
    Json long_ones;
    long_ones["/x"][std::string(10'000, 'k')] = std::string(10'000, 'v');
    say(long_ones.dump());
    const auto cut = client->query("/x");
    EXPECT_EQ(cut->begin().key(), std::string(253, 'k') + "...");
    EXPECT_EQ(cut->begin().value(), std::string(4093, 'v') + "...");
}

TEST_F(TelemetryClientTest, gives_the_answer_under_the_command_s_name) {
    auto client = connect();
    ASSERT_TRUE(client) << client.error().context;
    say(R"({"/unecho/ports": {"name": "tap-a"}})");
    const auto answer = client->query("/unecho/ports,0");
    ASSERT_TRUE(answer);
    EXPECT_EQ(*answer, Json::parse(R"({"name": "tap-a"})"));
    EXPECT_EQ(heard(), "/unecho/ports,0");
    say(R"({"/unecho/no": null})");
    EXPECT_TRUE(client->query("/unecho/no")->is_null());
}

TEST_F(TelemetryClientTest, does_not_take_a_late_answer_for_the_next) {
    auto client = connect();
    ASSERT_TRUE(client);
    client->set_timeout(kShort);
    for (int i = 0; i < 2; ++i) {
        const auto late = client->query("/slow");
        ASSERT_FALSE(late);
        EXPECT_EQ(late.error().code, Errc::kBusy);
        EXPECT_EQ(late.error().context, "does not answer");
    }
    client->set_timeout(kLong);
    say(R"({"/slow": 1})");
    say(R"({"/next": 2})");
    const auto next = client->query("/next");
    ASSERT_TRUE(next);
    EXPECT_EQ(*next, 2);
    EXPECT_EQ(heard(), "/slow");
    EXPECT_EQ(heard(), "/next") << "while one was owed, no second was asked for";
}

TEST_F(TelemetryClientTest, knows_who_is_not_there) {
    const auto none = TelemetryClient::connect(folder_ + "/none");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::kNotFound);
    close(std::exchange(listening_, -1));
    const auto dead = TelemetryClient::connect(path());
    ASSERT_FALSE(dead);
    EXPECT_EQ(dead.error().code, Errc::kNotFound);
    EXPECT_EQ(dead.error().context, "is not running");
    const auto too_long = TelemetryClient::connect(std::string(200, 'x'));
    ASSERT_FALSE(too_long);
}

TEST_F(TelemetryClientTest, knows_who_left) {
    auto client = connect();
    ASSERT_TRUE(client);
    close(std::exchange(peer_, -1));
    const auto answer = client->query("/unecho/info");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::kNotFound);
}

TEST_F(TelemetryClientTest, takes_no_nonsense) {
    EXPECT_EQ(connect("{}").error().code, Errc::kIo);
    EXPECT_EQ(connect("x").error().code, Errc::kIo);
    EXPECT_EQ(connect("", kShort).error().code, Errc::kBusy) << "says nothing";
    EXPECT_EQ(connect(std::string(2000, 'x')).error().code, Errc::kIo) << "a longer greeting";
    auto client = connect(R"({"max_output_len": 100})");
    ASSERT_TRUE(client);
    say("{\"/a\": ");
    EXPECT_EQ(client->query("/a").error().code, Errc::kIo);
    say("{\"/a\": \"\xff\"}");
    EXPECT_EQ(client->query("/a").error().code, Errc::kIo);
    say("{\"/a\": \"" + std::string(200, 'x') + "\"}");
    EXPECT_EQ(client->query("/a").error().code, Errc::kIo);
    say("[1]");
    EXPECT_FALSE(client->query("/a"));
}

// Walking through deep nesting recurses until the stack ends.
TEST_F(TelemetryClientTest, takes_no_answer_that_is_nested_without_end) {
    auto client = connect(R"({"max_output_len": 200000})");
    ASSERT_TRUE(client);
    const auto nested = [](std::size_t depth) {
        return R"({"/a": )" + std::string(depth, '[') + std::string(depth, ']') + "}";
    };
    say(nested(16));
    EXPECT_TRUE(client->query("/a"));
    for (const std::size_t depth : {100U, 50'000U}) {
        say(nested(depth));
        const auto answer = client->query("/a");
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().context, "answers what is no JSON to /a");
    }
}

TEST_F(TelemetryClientTest, waits_no_longer_when_it_is_told_to_stop) {
    std::atomic<bool> stop{true};
    const auto client = TelemetryClient::connect(path(), kLong, &stop);
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().code, Errc::kBusy);
}

}  // namespace
}  // namespace unecho::monitor
