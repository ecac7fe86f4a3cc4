// SPDX-License-Identifier: BSD-3-Clause
// Threads of the test hang at known places.
#include "appliance/watchdog/thread_trace.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "appliance/timers/sleep_backoff.h"
#include "appliance/watchdog/hung_workers.h"

namespace unecho::appliance {
namespace {

// A thread that reads from a pipe without a writer.
class Hanging {
  public:
    explicit Hanging(bool deaf = false) {
        EXPECT_EQ(pipe(pipe_.data()), 0);
        thread_ = std::thread([this, deaf] {
            if (deaf) {
                sigset_t all;
                sigfillset(&all);
                pthread_sigmask(SIG_SETMASK, &all, nullptr);
            }
            id_ = gettid();
            char byte = 0;
            result_ = read(pipe_[0], &byte, 1);
        });
        while (id_ == 0 || thread_state(id_).find("sleeping") != 0) {
            sleep_for(kMillisecond);
        }
    }
    ~Hanging() {
        EXPECT_EQ(write(pipe_[1], "x", 1), 1);
        thread_.join();
        EXPECT_EQ(result_, 1) << "the signal did not end the read";
        close(pipe_[0]);
        close(pipe_[1]);
    }
    [[nodiscard]] pid_t id() const { return id_; }

  private:
    std::array<int, 2> pipe_{};
    std::atomic<pid_t> id_{0};
    std::atomic<ssize_t> result_{0};
    std::thread thread_;
};

TEST(ThreadState, is_told_in_words) {
    EXPECT_EQ(thread_state_of("12 (lcore-worker-1) S 1 2", "pipe_write"), "sleeping in pipe_write");
    EXPECT_EQ(thread_state_of("12 (a) b) S 1 2", "0"), "sleeping");
    EXPECT_EQ(thread_state_of("12 (a) D 1 2", "io_schedule"),
              "waiting without being interruptible in io_schedule");
    EXPECT_EQ(thread_state_of("12 (a) R 1 2", "0"), "runnable");
    EXPECT_EQ(thread_state_of("12 (a) T 1 2", "do_signal_stop"), "stopped");
    EXPECT_EQ(thread_state_of("12 (a) t 1 2", ""), "stopped");
    EXPECT_EQ(thread_state_of("12 (a) Z 1 2", ""), "gone");
    EXPECT_EQ(thread_state_of("12 (a) I 1 2", ""), "in state I");
    EXPECT_EQ(thread_state_of("", ""), "gone");
    EXPECT_EQ(thread_state_of("12 (a)", ""), "gone");
}

TEST(ThreadState, of_this_thread_is_that_it_runs) {
    EXPECT_EQ(thread_state(gettid()), "runnable");
    EXPECT_EQ(thread_state(0), "gone");
}

TEST(ThreadTrace, is_the_stack_of_the_thread_that_was_asked_and_disturbs_it_not) {
    ASSERT_TRUE(ThreadTrace::prepare());
    const Hanging hanging;
    ThreadTrace trace;
    EXPECT_EQ(trace.answer(), std::nullopt);
    for (unsigned i = 0; i < 10; ++i) {
        ASSERT_TRUE(trace.ask(hanging.id()));
        while (!trace.answer()) {
            sleep_for(kMillisecond);
        }
        const std::string stack = *trace.answer();
        EXPECT_NE(stack.find("read+0x"), std::string::npos) << stack;
        EXPECT_NE(stack.find("(libc.so.6) < "), std::string::npos) << stack;
        EXPECT_EQ(stack.find("note_stack"), std::string::npos) << stack;
    }
}

TEST(ThreadTrace, of_no_thread_there_is_none) {
    ASSERT_TRUE(ThreadTrace::prepare());
    ThreadTrace trace;
    EXPECT_FALSE(trace.ask(getpid() + 1'000'000'000));
    EXPECT_EQ(trace.answer(), std::nullopt);
}

// Two threads hang, and one of them never answers: the other is reported all the same.
TEST(HungWorkers, are_said_at_once_and_where_they_are_one_after_the_other) {
    ASSERT_TRUE(ThreadTrace::prepare());
    const Hanging deaf(true);
    const Hanging other;
    HungWorkers hung({"worker 0 on lcore 1", "worker 1 on lcore 2"});
    EXPECT_EQ(hung.line(0), std::nullopt);
    EXPECT_EQ(hung.add(0, deaf.id(), dataplane::Stage::kTransmit, kSecond)
                  .find("worker 0 on lcore 1 does not poll: in transmit for 1 s, sleeping"),
              0U);
    EXPECT_EQ(hung.add(1, other.id(), dataplane::Stage::kReceive, 2 * kSecond)
                  .find("worker 1 on lcore 2 does not poll: in receive for 2 s, sleeping"),
              0U);
    Nanoseconds now = kSecond;
    EXPECT_EQ(hung.line(now), std::nullopt);
    EXPECT_EQ(hung.line(now + HungWorkers::kPatience - 1), std::nullopt);
    now += HungWorkers::kPatience;
    const auto first = hung.line(now);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->find("worker 0 on lcore 1 does not answer a signal: it is sleeping"), 0U);
    std::optional<std::string> second;
    while (!(second = hung.line(now))) {
        sleep_for(kMillisecond);
    }
    EXPECT_EQ(second->find("worker 1 on lcore 2 is at: "), 0U) << *second;
    EXPECT_NE(second->find("read+0x"), std::string::npos) << *second;
    EXPECT_EQ(hung.line(2 * now), std::nullopt);
}

}  // namespace
}  // namespace unecho::appliance
