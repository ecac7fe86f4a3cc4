// SPDX-License-Identifier: BSD-3-Clause
// Tests the meaning of systemd's environment variables; the process: tests/e2e/service_test.py.
#include "appliance/watchdog/service_manager.h"

#include <array>
#include <cstring>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "appliance/watchdog/watchdog_policy.h"

namespace unecho::appliance {
namespace {

Nanoseconds watchdog(const char* usec, const char* pid) {
    return ServiceManager({"@unecho-nobody", usec, pid}).watchdog();
}

TEST(ServiceManager, without_a_socket_says_nothing_and_has_no_watchdog) {
    for (const char* socket : {static_cast<const char*>(nullptr), ""}) {
        ServiceManager manager({socket, "1000000", nullptr});
        EXPECT_FALSE(manager.listens());
        EXPECT_EQ(manager.watchdog(), 0U);
        EXPECT_TRUE(manager.ready());
        EXPECT_TRUE(manager.stopping());
        manager.status("x");
        manager.feed_watchdog();
    }
}

TEST(ServiceManager, has_the_watchdog_that_is_this_processs) {
    const std::string own = std::to_string(getpid());
    EXPECT_EQ(watchdog("1500000", own.c_str()), 1500 * kMillisecond);
    EXPECT_EQ(watchdog("1500000", nullptr), 1500 * kMillisecond);
    EXPECT_EQ(watchdog("1500000", (own + "1").c_str()), 0U);
    EXPECT_EQ(watchdog("1500000", "x"), 0U);
    EXPECT_EQ(watchdog(nullptr, own.c_str()), 0U);
    for (const char* wrong : {"", "0", "-1", "1s", "18446744073709551615"}) {
        EXPECT_EQ(watchdog(wrong, own.c_str()), 0U) << wrong;
    }
}

TEST(ServiceManager, that_cannot_be_reached_is_named) {
    for (const char* address : {"@", "relative", "vsock:2:1"}) {
        ServiceManager manager({address, nullptr, nullptr});
        const Status status = manager.ready();
        ASSERT_FALSE(status) << address;
        EXPECT_EQ(status.error().context, "NOTIFY_SOCKET \"" + std::string(address) +
                                              "\" does not take \"READY=1\": Invalid argument");
    }
    const std::string too_long = "/" + std::string(200, 'x');
    EXPECT_FALSE(ServiceManager({too_long.c_str(), nullptr, nullptr}).ready());
    EXPECT_FALSE(ServiceManager({"@unecho-nobody", nullptr, nullptr}).stopping());
}

// For a reload systemd needs the start time, to know which READY belongs to it.
TEST(ServiceManager, says_each_message_in_the_words_of_the_protocol) {
    const std::string name = "unecho-test-" + std::to_string(getpid());
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    ASSERT_EQ(bind(socket, reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
              0);
    const auto received = [&] {
        std::array<char, 256> text{};
        const ssize_t n = recv(socket, text.data(), text.size(), 0);
        return n < 0 ? std::string("nothing") : std::string(text.data(), static_cast<size_t>(n));
    };
    ServiceManager manager({("@" + name).c_str(), nullptr, nullptr});
    EXPECT_TRUE(manager.ready());
    EXPECT_EQ(received(), "READY=1");
    manager.status("1 Mpps");
    EXPECT_EQ(received(), "STATUS=1 Mpps");
    manager.feed_watchdog();
    EXPECT_EQ(received(), "WATCHDOG=1");
    EXPECT_TRUE(manager.reloading());
    const std::string reloading = received();
    const std::string begin = "RELOADING=1\nMONOTONIC_USEC=";
    ASSERT_EQ(reloading.substr(0, begin.size()), begin);
    EXPECT_EQ(reloading.find_first_not_of("0123456789", begin.size()), std::string::npos);
    EXPECT_TRUE(manager.reloaded());
    EXPECT_EQ(received(), "READY=1");
    EXPECT_TRUE(manager.stopping());
    EXPECT_EQ(received(), "STOPPING=1");
    EXPECT_EQ(received(), "nothing");
    close(socket);
}

TEST(WatchdogPolicy, feeds_at_half_the_time_while_all_workers_poll) {
    constexpr Nanoseconds kWatchdog = 4 * kSecond;
    WatchdogPolicy watch(kWatchdog);
    std::vector<Nanoseconds> fed;
    for (Nanoseconds now = kSecond; now < 20 * kSecond; now += 20 * kMillisecond) {
        if (watch.feed(0, now)) {
            fed.push_back(now);
        }
    }
    ASSERT_EQ(fed.size(), 10U);
    for (std::size_t i = 0; i < fed.size(); ++i) {
        EXPECT_EQ(fed[i], kSecond + i * kWatchdog / 2);
    }
}

TEST(WatchdogPolicy, does_not_feed_while_one_stands_still_and_does_as_soon_as_it_is_back) {
    constexpr Nanoseconds kWatchdog = 4 * kSecond;
    WatchdogPolicy watch(kWatchdog);
    EXPECT_TRUE(watch.feed(0, kSecond));
    EXPECT_FALSE(watch.feed(kWatchdog / 4 + 1, kSecond + kWatchdog / 2));
    EXPECT_FALSE(watch.feed(2 * kWatchdog, kSecond + 2 * kWatchdog));
    EXPECT_TRUE(watch.feed(0, kSecond + 2 * kWatchdog + 1));
    EXPECT_FALSE(watch.feed(0, kSecond + 2 * kWatchdog + 2));
    EXPECT_TRUE(watch.feed(kWatchdog / 4, kSecond + 3 * kWatchdog));
}

TEST(WatchdogPolicy, without_a_watchdog_never_feeds) {
    EXPECT_FALSE(WatchdogPolicy(0).feed(0, kSecond));
}

// Whenever the worker begins to hang, it is named before systemd's watchdog time is over.
TEST(WatchdogPolicy, a_hanging_worker_is_named_before_the_time_is_over) {
    EXPECT_EQ(WatchdogPolicy::hangs_after(0), kSecond);
    EXPECT_EQ(WatchdogPolicy::hangs_after(30 * kSecond), kSecond);
    EXPECT_EQ(WatchdogPolicy::hangs_after(2 * kSecond), kSecond / 2);
    EXPECT_EQ(WatchdogPolicy::hangs_after(kMillisecond), 100 * kMillisecond);
}

}  // namespace
}  // namespace unecho::appliance
