// SPDX-License-Identifier: BSD-3-Clause
// Whether this host has what a plan needs: kernel interfaces, memory, hugepages. `unecho check`
// warns of what is missing, because the file may be for another host. `unecho run` refuses what
// cannot work before it starts DPDK.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/eal/ports/interface_claim.h"
#include "appliance/eal/ports/kernel_interface.h"
#include "appliance/plan/plan.h"
#include "base/result.h"
#include "config/problem.h"
#include "config/schema.h"

namespace unecho::appliance {

// Memory in bytes. Pages reserved as hugepages do not count as available.
struct HostMemory {
    std::uint64_t total = 0;      // 0: unknown
    std::uint64_t available = 0;  // without swapping
    std::uint64_t hugepages = 0;  // reserved, or allowed to be taken
    std::uint64_t free_hugepages = 0;

    static HostMemory detect();
};

// Parse the lines of /proc/meminfo.
HostMemory parse_meminfo(std::string_view text);

struct HostInterface {
    eal::InterfaceUse use = eal::InterfaceUse::kFree;  // by other unechos
    eal::InterfaceState state;
};

// A host has this at one moment.
struct Host {
    std::map<std::string, HostInterface> interfaces;  // of the plan; the others are missing
    std::vector<std::string> names;                   // of all interfaces, for messages
    HostMemory memory;
    bool runs = false;  // the appliance of the configuration, which then uses them itself

    // Look for the interfaces of the configuration, which must be validated.
    static Host detect(const config::Config& config);
};

struct HostProblem {
    config::Problem problem;
    bool prevents_start = false;
    bool is_note = false;  // unecho copes with it by itself
};

// Return what the host lacks. eal_args: DPDK's arguments, those of the command line included.
std::vector<HostProblem> host_problems(const config::Config& config, const Plan& plan,
                                       const Host& host, const std::vector<std::string>& eal_args);

// Return DPDK's arguments for memory in ordinary pages, with as much as the plan needs: where the
// host has no hugepages and the arguments do not say which memory to take. Else return none.
std::vector<std::string> ordinary_memory_args(const Plan& plan, const HostMemory& memory,
                                              const std::vector<std::string>& eal_args);

}  // namespace unecho::appliance
