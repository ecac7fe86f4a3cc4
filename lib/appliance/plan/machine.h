// SPDX-License-Identifier: BSD-3-Clause
// What the process may use of the machine it runs on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "dedup/engines/isa.h"

namespace unecho::control {

struct Machine {
    std::vector<LcoreId> cpus;       // in the process's affinity mask, ascending
    std::vector<LcoreId> scheduled;  // of them those that the kernel puts other threads on, too
    // The plan may be for another machine (`unecho check`): CPUs that are not here are worth a
    // note, not an error.
    bool is_other_host = false;

    engines::IsaChoice isas;
    std::uint64_t core_cache = 0;  // bytes of a core's own cache (L2); 0: not known

    static Machine detect();
};

// "0-2,5" as the kernel writes lists of CPUs; what cannot be read is left out.
std::vector<LcoreId> cpu_list(std::string_view text);

}  // namespace unecho::control
