// SPDX-License-Identifier: BSD-3-Clause
// DPDK's environment (EAL) for the life of the process. Cold. The modules of this folder wrap
// set-up and tear-down in RAII types; they know nothing of packets, routes or filters.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace unecho::eal {

struct SessionOptions {
    std::string program = "unecho";
    std::string name;               // --file-prefix, unless args give one; empty: DPDK's
    std::vector<std::string> args;  // the user's, passed on unchanged
    LcoreId main_lcore = 0;
    std::string lcores;                    // the --lcores map
    std::vector<std::string> pci_devices;  // the only PCI devices to probe; none: no PCI bus
    bool verbose = false;                  // EAL's own log to stderr; else kept for error messages
};

// Whether a process runs under that name, and can be asked. Where configuration is shared (no
// --no-shconf, no --in-memory) DPDK refuses a second one; else it gives its socket another name.
bool is_name_taken(const SessionOptions& options);
std::string taken_text(const std::string& name);

// One per process and only once: DPDK cannot be initialised again after its clean-up.
class Session {
  public:
    static Result<Session> open(const SessionOptions& options);
    ~Session();
    Session(Session&& other) noexcept;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    Session& operator=(Session&&) = delete;

    // False with --no-huge or where the machine has none.
    [[nodiscard]] bool has_hugepages() const;

  private:
    explicit Session(bool owner) : owner_(owner) {}
    bool owner_;
};

// The last lines that DPDK logged, for the context of an error; empties the buffer.
std::string take_log();

}  // namespace unecho::eal
