// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/watchdog/hung_workers.h"

#include <fmt/core.h>

namespace unecho::appliance {
namespace {

std::string why_silent(pid_t thread) {
    const std::string state = thread_state(thread);
    return state == "runnable" ? "it is runnable, but the kernel gives it no CPU"
                               : "it is " + state;
}

}  // namespace

std::string HungWorkers::add(std::size_t worker, pid_t thread, dataplane::Stage stage,
                             Nanoseconds standstill) {
    waiting_.push_back({worker, thread});
    return fmt::format("{} does not poll: in {} for {}, {}", names_[worker],
                       dataplane::kStageNames[static_cast<std::size_t>(stage)],
                       format_duration(standstill), thread_state(thread));
}

std::optional<std::string> HungWorkers::line(Nanoseconds now) {
    if (waiting_.empty()) {
        return std::nullopt;
    }
    const Hung hung = waiting_.front();
    if (!asked_) {
        asked_ = now;
        trace_.ask(hung.thread);
    }
    const std::optional<std::string> stack = trace_.answer();
    if (!stack && now - *asked_ < kPatience) {
        return std::nullopt;
    }
    waiting_.pop_front();
    asked_.reset();
    return names_[hung.worker] +
           (stack ? " is at: " + *stack : " does not answer a signal: " + why_silent(hung.thread));
}

}  // namespace unecho::appliance
