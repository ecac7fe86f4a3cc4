// SPDX-License-Identifier: BSD-3-Clause
#include "control/machine.h"

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

}  // namespace unecho::control
