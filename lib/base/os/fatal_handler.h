// SPDX-License-Identifier: BSD-3-Clause
// For libraries that end the process when they cannot go on, by abort() and lines of their own:
// what they say becomes the one line that the process ends with, if the program has said how.
#pragma once

#include <atomic>

namespace unecho {

// Standard error as it was, while something else has its place; -1: it has its place.
inline std::atomic<int> real_standard_error{-1};

// Says why, and ends the process; from any thread.
using FatalHandler = void (*)(const char* why) noexcept;
inline std::atomic<FatalHandler> fatal_handler{nullptr};

// Returns where nobody has said how.
inline void report_fatal(const char* why) noexcept {
    if (const FatalHandler say = fatal_handler.load()) {
        say(why);
    }
}

}  // namespace unecho
