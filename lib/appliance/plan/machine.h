// SPDX-License-Identifier: BSD-3-Clause
// The CPUs and instruction sets that the process may use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "dedup/engines/isa.h"

namespace unecho::appliance {

struct Machine {
    std::vector<LcoreId> cpus;       // in the process's affinity mask, ascending
    std::vector<LcoreId> scheduled;  // those of them where the kernel also runs other threads
    // The plan may be for another machine (`unecho check`): what is missing here is then no error,
    // but listed in Plan::missing_here.
    bool is_other_host = false;

    engines::IsaChoice isas;
    std::uint64_t core_cache = 0;  // bytes of a core's own cache (L2); 0: unknown

    static Machine detect();
};

// Parse a list of CPUs as the kernel writes it, such as "0-2,5". Unreadable parts are skipped.
std::vector<LcoreId> cpu_list(std::string_view text);

}  // namespace unecho::appliance
