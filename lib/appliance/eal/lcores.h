// SPDX-License-Identifier: BSD-3-Clause
// DPDK's lcore map: a worker's lcore number is that of its CPU. The control thread is the main
// lcore. It mostly sleeps, so it may share a CPU with a worker, under a number of its own.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/ids.h"

namespace unecho::eal {

inline constexpr LcoreId kMaxLcore = 127;  // RTE_MAX_LCORE - 1

inline LcoreId main_lcore_for(LcoreId cpu, const std::vector<LcoreId>& workers) {
    const auto taken = [&](LcoreId id) {
        return std::find(workers.begin(), workers.end(), id) != workers.end();
    };
    LcoreId id = cpu;
    for (LcoreId candidate = kMaxLcore; taken(id); --candidate) {
        id = candidate;
    }
    return id;
}

// "127@0,0@0,1@1"
inline std::string lcore_map(LcoreId main_lcore, LcoreId main_cpu,
                             const std::vector<LcoreId>& workers) {
    std::string map = std::to_string(main_lcore) + "@" + std::to_string(main_cpu);
    for (const LcoreId cpu : workers) {
        map += "," + std::to_string(cpu) + "@" + std::to_string(cpu);
    }
    return map;
}

}  // namespace unecho::eal
