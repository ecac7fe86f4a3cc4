// SPDX-License-Identifier: BSD-3-Clause
// Reports workers that hang: at once the stage that they are in, and a moment later their stack.
// Used by the control thread only.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "appliance/dataplane/stall.h"
#include "appliance/watchdog/thread_trace.h"
#include "base/units.h"

namespace unecho::appliance {

class HungWorkers {
  public:
    // A thread that has not handled a signal after this time does not run at all.
    static constexpr Nanoseconds kPatience = kSecond / 2;

    explicit HungWorkers(std::vector<std::string> names) : names_(std::move(names)) {}

    // Return the line for a worker that has not polled for `standstill`, such as "worker 0 on lcore
    // 1 does not poll: in transmit for 1 s, sleeping in pipe_write".
    std::string add(std::size_t worker, pid_t thread, dataplane::Stage stage,
                    Nanoseconds standstill);
    // Return the stack of one of them once it has handled the signal, or a line that it does not.
    std::optional<std::string> line(Nanoseconds now);

  private:
    struct Hung {
        std::size_t worker;
        pid_t thread;
    };
    std::vector<std::string> names_;
    std::deque<Hung> waiting_;  // the first is being traced
    ThreadTrace trace_;
    std::optional<Nanoseconds> asked_;
};

}  // namespace unecho::appliance
