// SPDX-License-Identifier: BSD-3-Clause
// A child process that works on memory shared with the test, and is killed at an arbitrary moment.
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filters/storage.h"

namespace unecho::test {

// Zeroed, line-aligned memory, followed by a line in which the child counts its progress.
class SharedMemory {
  public:
    explicit SharedMemory(std::size_t bytes)
        : bytes_(bytes + filter::kCacheLine),
          data_(static_cast<std::byte*>(
              mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
    ~SharedMemory() { munmap(data_, bytes_); }
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;
    SharedMemory(SharedMemory&&) = delete;
    SharedMemory& operator=(SharedMemory&&) = delete;

    // Finished rounds, and a second counter for the child's use.
    struct Progress {
        std::atomic<std::uint64_t> rounds;
        std::atomic<std::uint64_t> other;
    };
    [[nodiscard]] Progress& progress() const { return *reinterpret_cast<Progress*>(data_); }
    [[nodiscard]] std::span<std::byte> span() const {
        return {data_ + filter::kCacheLine, bytes_ - filter::kCacheLine};
    }

  private:
    std::size_t bytes_;
    std::byte* data_;
};

// Send SIGKILL to this process in so many nanoseconds, whatever it does then. The process uses a
// timer of its own: a parent on the same CPU would be too late, or would wait for its time slice.
inline void be_killed_in(std::uint64_t nanoseconds) {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    timer_t timer{};
    const itimerspec once{{}, {0, static_cast<long>(nanoseconds)}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &once, nullptr) != 0) {
        _exit(1);
    }
}

// Run `work` in a child and pass it a function to call after each round. Kill the child
// `nanoseconds` after `rounds` rounds.
template <typename Work>
void kill_amid(const SharedMemory& shared, std::uint64_t rounds, std::uint64_t nanoseconds,
               const Work& work) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        work([&] {
            const std::uint64_t over = shared.progress().rounds.load(std::memory_order_relaxed) + 1;
            shared.progress().rounds.store(over, std::memory_order_release);
            if (over == rounds) {
                be_killed_in(nanoseconds);
            }
        });
        for (;;) {
            pause();
        }
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

// Run prepare() and act() in a child. Single-step act() and call look() after each instruction,
// until look() returns false, `most` instructions are done, or act() ends. Return the number of
// instructions; 0 if processes may not be traced here.
template <typename Prepare, typename Act, typename Look>
std::uint64_t step_through(std::uint64_t most, const Prepare& prepare, const Act& act,
                           const Look& look) {
    const pid_t child = fork();
    if (child == 0) {
        auto prepared = prepare();
        if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
            _exit(1);
        }
        raise(SIGSTOP);
        act(prepared);
        _exit(0);
    }
    std::uint64_t steps = 0;
    int status = 0;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        if (steps == most || (steps != 0 && !look())) {
            break;
        }
        ++steps;
        if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) {
            break;
        }
    }
    if (WIFSTOPPED(status)) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    return steps;
}

}  // namespace unecho::test
