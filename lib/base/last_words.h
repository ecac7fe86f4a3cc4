// SPDX-License-Identifier: BSD-3-Clause
// For libraries that end the process when they cannot go on, by abort() and lines of their own:
// what they say becomes the one line that the process ends with, if the program has said how.
#pragma once

#include <atomic>

namespace unecho {

// Standard error as it was, while something else has its place; -1: it has its place.
inline std::atomic<int> real_standard_error{-1};

// Says why, and ends the process; from any thread.
using LastWords = void (*)(const char* why) noexcept;
inline std::atomic<LastWords> last_words{nullptr};

// Returns where nobody has said how.
inline void give_up(const char* why) noexcept {
    if (const LastWords say = last_words.load()) {
        say(why);
    }
}

}  // namespace unecho
