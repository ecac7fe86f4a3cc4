// SPDX-License-Identifier: BSD-3-Clause
// What the process may use of the machine it runs on.
#pragma once

#include <vector>

#include "base/ids.h"

namespace unecho::control {

struct Machine {
    std::vector<LcoreId> cpus;  // in the process's affinity mask, ascending
    // The plan may be for another machine (`unecho check`): CPUs that are not here are worth a
    // note, not an error.
    bool may_differ = false;

    static Machine detect();
};

}  // namespace unecho::control
