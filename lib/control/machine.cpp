// SPDX-License-Identifier: BSD-3-Clause
#include "control/machine.h"

#include <algorithm>
#include <cstdlib>

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

}  // namespace unecho::control
