// SPDX-License-Identifier: BSD-3-Clause
// Finds out where a thread of this process hangs, from another thread: its state in the kernel and
// its stack. The thread records its stack itself, in a handler of SIGRTMIN. An interrupted system
// call continues afterwards.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/result.h"

namespace unecho::appliance {

// Return the kernel's state of a thread, from /proc/self/task/TID/stat and wchan, such as "sleeping
// in pipe_write".
std::string thread_state(pid_t tid);
// The same from the texts of these files.
std::string thread_state_of(std::string_view stat, std::string_view wchan);

// One trace at a time in a process.
class ThreadTrace {
  public:
    // Install the handler. Call before threads can hang: this loads what the handler needs.
    static Status prepare();

    // Send the signal. Return false if there is no such thread.
    bool ask(pid_t tid);
    // Return the thread's stack once its handler ran, innermost first, such as "write (libc.so.6) <
    // ... < run_worker".
    [[nodiscard]] std::optional<std::string> answer() const;

  private:
    unsigned ticket_ = 0;
};

}  // namespace unecho::appliance
