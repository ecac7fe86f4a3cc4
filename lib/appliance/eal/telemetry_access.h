// SPDX-License-Identifier: BSD-3-Clause
// Who may ask: DPDK's telemetry socket lies in a folder of the process and is its user's alone. A
// group gets a socket of unecho's own beside it (appliance/stats/monitor_server.h).
#pragma once

#include <string>
#include <utility>

#include <sys/types.h>

#include "base/descriptor.h"
#include "base/result.h"

namespace unecho::eal {

// Whether somebody answers on the telemetry socket in a folder.
bool telemetry_answers(const std::string& folder);

// Where members of a group ask: it listens from here on, and whoever connects waits to be answered.
class MonitorSocket {
  public:
    // In this process's folder, after DPDK started. The folder can be entered by the group from
    // then on; the folder above, which processes share, becomes one that everybody may list; DPDK's
    // own sockets become their user's alone.
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
    std::string path_;  // removed with this
};

}  // namespace unecho::eal
