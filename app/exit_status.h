// SPDX-License-Identifier: BSD-3-Clause
// What the process tells its caller; main.cpp uses it, the man page prints it.
#pragma once

#include <array>

namespace unecho::app {

struct ExitStatus {
    int value;
    const char* meaning;
};

inline constexpr ExitStatus kDone{0, "done"};
inline constexpr ExitStatus kFailed{1, "failed while running or an input was not read whole"};
inline constexpr ExitStatus kBadUsage{2, "bad usage or configuration"};
inline constexpr std::array kExitStatuses{kDone, kFailed, kBadUsage};

}  // namespace unecho::app
