// SPDX-License-Identifier: BSD-3-Clause
// Reads from DPDK's arguments which memory it takes.
#pragma once

#include <string>
#include <vector>

namespace unecho::eal {

struct MemoryArgs {
    bool ordinary = false;   // --no-huge
    bool hugepages = false;  // an option that only hugepages obey, such as --in-memory
    bool amount = false;     // -m or --socket-mem
};

// Parse as getopt_long() does, which accepts shortened names.
MemoryArgs memory_args(const std::vector<std::string>& args);

}  // namespace unecho::eal
