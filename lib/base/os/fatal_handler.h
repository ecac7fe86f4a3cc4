// SPDX-License-Identifier: BSD-3-Clause
// For libraries that print and abort() when they cannot continue. If the program has set a handler,
// their message becomes the one line with which the process ends.
#pragma once

#include <atomic>

namespace unecho {

// The original standard error while it is redirected; -1 if it is not.
inline std::atomic<int> real_standard_error{-1};

// Report the reason and end the process. Any thread may call it.
using FatalHandler = void (*)(const char* why) noexcept;
inline std::atomic<FatalHandler> fatal_handler{nullptr};

// Call the handler; return if there is none.
inline void report_fatal(const char* why) noexcept {
    if (const FatalHandler say = fatal_handler.load()) {
        say(why);
    }
}

}  // namespace unecho
