// SPDX-License-Identifier: BSD-3-Clause
// What is said of workers that hang: at once in which stage, and a moment later where in the code.
// The control thread's.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "appliance/dataplane/stall.h"
#include "appliance/watchdog/thread_trace.h"
#include "base/units.h"

namespace unecho::control {

class HungWorkers {
  public:
    // Who does not answer a signal for so long does not run at all.
    static constexpr Nanoseconds kPatience = kSecond / 2;

    explicit HungWorkers(std::vector<std::string> names) : names_(std::move(names)) {}

    // A worker that has not polled for so long. What there is to say at once:
    // "worker 0 on lcore 1 does not poll: in transmit for 1s, sleeping in pipe_write".
    std::string add(std::size_t worker, pid_t thread, dataplane::Stage stage,
                    Nanoseconds standstill);
    // Where one of them is, once it has answered; or that it does not.
    std::optional<std::string> line(Nanoseconds now);

  private:
    struct Hung {
        std::size_t worker;
        pid_t thread;
    };
    std::vector<std::string> names_;
    std::deque<Hung> waiting_;  // the first is asked
    ThreadTrace trace_;
    std::optional<Nanoseconds> asked_;
};

}  // namespace unecho::control
