// SPDX-License-Identifier: BSD-3-Clause
// Resources that a device needs for itself alone: a kernel interface, a socket. DPDK would accept
// two ports of one, and each would get the other's packets, or none. Private to config.
#pragma once

#include <string>
#include <vector>

#include "config/devices/device.h"

namespace unecho::config {

struct DeviceClaim {
    std::string what;      // for people: "interface "eth0""
    std::string identity;  // equal for all spellings of one resource
};

// Return the claims of a device. An interface for receiving and sending appears once.
std::vector<DeviceClaim> claims_of(const Device& device);

// Return one name for a file, however it is written. The file need not exist.
std::string file_identity(const std::string& path);

}  // namespace unecho::config
