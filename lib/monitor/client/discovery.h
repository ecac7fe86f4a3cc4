// SPDX-License-Identifier: BSD-3-Clause
// Where appliances are: each DPDK process has a folder, called as its --file-prefix, with its
// telemetry socket in it.
#pragma once

#include <string>
#include <vector>

namespace unecho::monitor {

struct TelemetrySocket {
    std::string name;    // the folder's; or its whole path where an earlier one is called so
    std::string socket;  // path
};

struct TelemetrySockets {
    std::vector<TelemetrySocket> found;  // by name; of any DPDK program
    std::vector<std::string> problems;   // folders that may not be looked into, a line each
};

// Folders that hold those of processes: that of RUNTIME_DIRECTORY alone where it is set, as DPDK
// has it; else root's, and this user's own.
std::vector<std::string> runtime_folders();

TelemetrySockets find_telemetry_sockets(const std::vector<std::string>& folders);

}  // namespace unecho::monitor
