// SPDX-License-Identifier: BSD-3-Clause
// Finds appliances. Each DPDK process has a runtime directory, named after its --file-prefix, with
// its telemetry socket.
#pragma once

#include <string>
#include <vector>

namespace unecho::monitor {

struct TelemetrySocket {
    std::string name;    // the directory's; its whole path if that name is taken
    std::string socket;  // path
};

struct TelemetrySockets {
    std::vector<TelemetrySocket> found;  // of any DPDK program
    std::vector<std::string> problems;   // unreadable directories, one line each
};

// Return the parents of runtime directories: RUNTIME_DIRECTORY alone if it is set, as DPDK does;
// else root's and this user's.
std::vector<std::string> runtime_folders();

// Return the path that the socket of an appliance of this name will have, in the first folder.
std::string default_socket(const std::vector<std::string>& folders, const std::string& name);

TelemetrySockets find_telemetry_sockets(const std::vector<std::string>& folders);

}  // namespace unecho::monitor
