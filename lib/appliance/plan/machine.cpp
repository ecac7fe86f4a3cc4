// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/plan/machine.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <system_error>

#include <sched.h>

#include "dedup/engines/planning/plan.h"

namespace unecho::appliance {

Machine Machine::detect() {
    Machine machine;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        for (LcoreId cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &set)) {
                machine.cpus.push_back(cpu);
            }
        }
    }
    std::string isolated;
    std::ifstream("/sys/devices/system/cpu/isolated") >> isolated;
    const std::vector<LcoreId> alone = cpu_list(isolated);
    std::set_difference(machine.cpus.begin(), machine.cpus.end(), alone.begin(), alone.end(),
                        std::back_inserter(machine.scheduled));
    machine.isas = engines::IsaChoice::measured();
    machine.core_cache = engines::core_cache();
    return machine;
}

std::vector<LcoreId> cpu_list(std::string_view text) {
    std::vector<LcoreId> cpus;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
        LcoreId first = 0;
        const auto begin = std::from_chars(part.data(), part.data() + part.size(), first);
        LcoreId last = first;
        if (begin.ptr != part.data() + part.size() && *begin.ptr == '-') {
            std::from_chars(begin.ptr + 1, part.data() + part.size(), last);
        }
        for (LcoreId cpu = first; begin.ec == std::errc() && cpu <= last; ++cpu) {
            cpus.push_back(cpu);
        }
    }
    return cpus;
}

}  // namespace unecho::appliance
