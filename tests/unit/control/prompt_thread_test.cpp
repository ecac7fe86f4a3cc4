// SPDX-License-Identifier: BSD-3-Clause
#include "control/prompt_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace unecho::control {
namespace {

int policy() {
    int value = -1;
    sched_param parameters{};
    pthread_getschedparam(pthread_self(), &value, &parameters);
    return value;
}

TEST(PromptThread, HasRealTimePriorityWhileItLives) {
    const int before = policy();
    {
        const PromptThread prompt;
        if (!prompt.status()) {
            GTEST_SKIP() << prompt.status().error().context;
        }
        EXPECT_EQ(policy(), SCHED_FIFO);
    }
    EXPECT_EQ(policy(), before);
}

// Only a process of its own can give up its privileges for a moment. 0: refused, said, and
// unchanged.
[[noreturn]] void try_without_privileges() {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_RTPRIO, &none);
    if (geteuid() == 0 && setuid(65534) != 0) {
        _exit(2);
    }
    const int before = policy();
    const PromptThread prompt;
    const bool told = !prompt.status() && prompt.status().error().code == Errc::kPermission &&
                      prompt.status().error().context.find("real-time") != std::string::npos;
    _exit(told && policy() == before ? 0 : 1);
}

TEST(PromptThread, SaysWhyNotAndChangesNothing) {
    EXPECT_EXIT(try_without_privileges(), testing::ExitedWithCode(0), "");
}

TEST(Fatigue, IsDueForARestAfterAStintOfWork) {
    Fatigue fatigue;
    fatigue.worked(Fatigue::kStint - 1);
    EXPECT_FALSE(fatigue.rest_due());
    fatigue.worked(1);
    EXPECT_TRUE(fatigue.rest_due());
    fatigue.slept(Fatigue::kRest);
    EXPECT_FALSE(fatigue.rest_due());
}

TEST(Fatigue, CountsEverySleepAndSavesNoneUp) {
    Fatigue fatigue;
    fatigue.slept(kSecond);
    fatigue.worked(Fatigue::kStint);
    EXPECT_TRUE(fatigue.rest_due());
    fatigue.slept(1);
    EXPECT_FALSE(fatigue.rest_due());
    for (int i = 0; i < 1000; ++i) {  // a fifth of its time asleep
        fatigue.worked(40 * kMicrosecond);
        fatigue.slept(10 * kMicrosecond);
        ASSERT_FALSE(fatigue.rest_due());
    }
    for (int i = 0; i < 100; ++i) {  // less than that
        fatigue.worked(40 * kMicrosecond);
        fatigue.slept(5 * kMicrosecond);
    }
    EXPECT_TRUE(fatigue.rest_due());
}

}  // namespace
}  // namespace unecho::control
