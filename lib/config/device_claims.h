// SPDX-License-Identifier: BSD-3-Clause
// What a device takes for itself alone: a kernel interface, a socket. Two ports of one would both
// be accepted by DPDK, and get each other's packets, or none. Private to config.
#pragma once

#include <string>
#include <vector>

#include "config/device.h"

namespace unecho::config {

struct DeviceClaim {
    std::string what;      // for people: "interface "eth0""
    std::string identity;  // equal for all spellings of one thing
};

// An interface that a driver both receives from and sends to is there once.
std::vector<DeviceClaim> claims_of(const Device& device);

// One name for a file, however it is written; the file need not exist.
std::string file_identity(const std::string& path);

}  // namespace unecho::config
