// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/watchdog/realtime_priority.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace unecho::appliance {
namespace {

int policy() {
    int value = -1;
    sched_param parameters{};
    pthread_getschedparam(pthread_self(), &value, &parameters);
    return value;
}

TEST(RealtimePriority, HasRealTimePriorityWhileItLives) {
    const int before = policy();
    {
        const RealtimePriority priority;
        if (!priority.status()) {
            GTEST_SKIP() << priority.status().error().context;
        }
        EXPECT_EQ(policy(), SCHED_FIFO);
    }
    EXPECT_EQ(policy(), before);
}

// Run in a child process, because privileges are given up for good. Exit with 0 if the priority was
// refused and reported, and is unchanged.
[[noreturn]] void try_without_privileges() {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_RTPRIO, &none);
    if (geteuid() == 0 && setuid(65534) != 0) {
        _exit(2);
    }
    const int before = policy();
    const RealtimePriority priority;
    const bool told = !priority.status() && priority.status().error().code == Errc::kPermission &&
                      priority.status().error().context.find("real-time") != std::string::npos;
    _exit(told && policy() == before ? 0 : 1);
}

TEST(RealtimePriority, SaysWhyNotAndChangesNothing) {
    EXPECT_EXIT(try_without_privileges(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace unecho::appliance
