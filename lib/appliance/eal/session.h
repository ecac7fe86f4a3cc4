// SPDX-License-Identifier: BSD-3-Clause
// eal: RAII around DPDK's set-up and tear-down: the environment (this header), ports
// (ports/port.h), packet buffers (ports/mempool.h), rings (ports/ring.h), hugepage memory
// (huge_memory.h), and the files and sockets that DPDK leaves behind. Cold: no function here runs
// per packet.
//
// May not: know packets, routes or filters. Next: ports/port.h.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace unecho::eal {

struct SessionOptions {
    std::string program = "unecho";
    std::string name;               // --file-prefix, unless args set it; empty: DPDK's
    std::vector<std::string> args;  // the user's, unchanged
    LcoreId main_lcore = 0;
    std::string lcores;                    // the --lcores map
    std::vector<std::string> pci_devices;  // the only ones to probe; empty: no PCI bus
    bool verbose = false;                  // EAL's log to stderr; else kept for error messages
};

// Return the name of the process on this host: its --file-prefix.
std::string name_on_host(const SessionOptions& options);

// Return true if a process of that name runs and answers. If processes share configuration (no
// --no-shconf, no --in-memory), DPDK refuses a second one; otherwise it renames its socket.
bool is_name_taken(const SessionOptions& options);
std::string taken_text(const std::string& name);

// DPDK's environment (EAL) for the life of the process. There is one, once: DPDK cannot be
// initialised again after its clean-up.
class Session {
  public:
    static Result<Session> open(const SessionOptions& options);
    ~Session();
    Session(Session&& other) noexcept;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    Session& operator=(Session&&) = delete;

    // False with --no-huge, or if the machine has none.
    [[nodiscard]] bool has_hugepages() const;

  private:
    explicit Session(bool owner) : owner_(owner) {}
    bool owner_;
};

// Return the last lines that DPDK logged, for the context of an error, and empty the buffer.
std::string take_log();

}  // namespace unecho::eal
