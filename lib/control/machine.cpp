// SPDX-License-Identifier: BSD-3-Clause
#include "control/machine.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

#include <sched.h>

namespace unecho::control {

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
    machine.widest_isa = filter::best_isa();
    if (const char* forced = std::getenv("UNECHO_ISA"); forced != nullptr) {
        machine.forced_isa = forced;
    }
    return machine;
}

Result<filter::Isa> Machine::isa_of(std::string_view name) const {
    std::string allowed = "auto";
    for (unsigned isa = 0; isa <= static_cast<unsigned>(widest_isa); ++isa) {
        allowed += ", " + std::string(filter::kIsaNames.at(isa));
        if (filter::kIsaNames.at(isa) == name) {
            return static_cast<filter::Isa>(isa);
        }
    }
    if (name == "auto") {
        return widest_isa;
    }
    const bool known = std::find(filter::kIsaNames.begin(), filter::kIsaNames.end(), name) !=
                       filter::kIsaNames.end();
    return fail(known ? Errc::kUnsupported : Errc::kInvalidArgument,
                "\"" + std::string(name) + "\"" +
                    (known ? " is not on this processor" : " is no instruction set") +
                    "; allowed: " + allowed);
}

Result<filter::Isa> Machine::isa() const {
    Result<filter::Isa> found = isa_of(forced_isa.value_or("auto"));
    if (!found) {
        return fail(Errc::kInvalidArgument, "UNECHO_ISA: " + found.error().context);
    }
    return found;
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

}  // namespace unecho::control
