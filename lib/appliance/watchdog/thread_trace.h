// SPDX-License-Identifier: BSD-3-Clause
// Where a thread of this process hangs, seen from another one: what the kernel says of it, and its
// stack, which it notes itself in the handler of a signal (SIGRTMIN). A system call that it is in
// goes on behind that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/result.h"

namespace unecho::control {

// What the kernel says of it, from /proc/self/task/TID/stat and wchan: "sleeping in pipe_write".
std::string thread_state(pid_t tid);
// Of the texts of these files.
std::string thread_state_of(std::string_view stat, std::string_view wchan);

// One at a time in a process.
class ThreadTrace {
  public:
    // The handler; from then on a thread can be asked. Before threads hang: what the handler calls
    // is loaded here.
    static Status prepare();

    // False if there is no such thread.
    bool ask(pid_t tid);
    // Its stack once it has answered, innermost first: "write (libc.so.6) < ... < run_worker".
    [[nodiscard]] std::optional<std::string> answer() const;

  private:
    unsigned ticket_ = 0;
};

}  // namespace unecho::control
