// SPDX-License-Identifier: BSD-3-Clause
// Exit statuses of the process; the man page lists them.
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

// Exit statuses of `status --check`, as monitoring systems expect them of a plugin.
inline constexpr ExitStatus kFine{0, "fine"};
inline constexpr ExitStatus kWarning{1, "warning: packets or certainty are lost"};
inline constexpr ExitStatus kBroken{2, "broken: a promise is not kept, or it does not answer"};
inline constexpr ExitStatus kUnknown{3, "not running, not permitted to ask, or bad usage"};
inline constexpr std::array kCheckStatuses{kFine, kWarning, kBroken, kUnknown};

}  // namespace unecho::app
