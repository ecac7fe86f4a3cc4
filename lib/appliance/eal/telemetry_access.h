// SPDX-License-Identifier: BSD-3-Clause
// Access to telemetry: DPDK's socket is in a directory of the process and belongs to its user
// alone. A group gets a socket of unecho beside it (appliance/stats/monitor_server.h).
#pragma once

#include <string>
#include <utility>

#include <sys/types.h>

#include "base/descriptor.h"
#include "base/result.h"

namespace unecho::eal {

// Return true if a process answers on the telemetry socket in a directory.
bool telemetry_answers(const std::string& folder);

// The socket for members of a group. It listens from open() on; clients wait for their answers.
class MonitorSocket {
  public:
    // Open it in this process's directory, after DPDK started. From then on the group can enter
    // that directory and everybody may list its parent, which processes share. DPDK's own sockets
    // become the user's alone.
    static Result<MonitorSocket> open(gid_t group);
    ~MonitorSocket();
    MonitorSocket(MonitorSocket&& other) noexcept
        : descriptor_(std::move(other.descriptor_)), path_(std::exchange(other.path_, {})) {}
    MonitorSocket& operator=(MonitorSocket&&) = delete;
    MonitorSocket(const MonitorSocket&) = delete;
    MonitorSocket& operator=(const MonitorSocket&) = delete;

    [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  private:
    MonitorSocket(Descriptor descriptor, std::string path)
        : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

    Descriptor descriptor_;
    std::string path_;  // removed by the destructor
};

}  // namespace unecho::eal
