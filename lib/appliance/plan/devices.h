// SPDX-License-Identifier: BSD-3-Clause
// From a configured port to the device that DPDK opens.
#pragma once

#include <vector>

#include "appliance/eal/ports/port.h"
#include "base/os/device.h"
#include "config/schema.h"

namespace unecho::appliance {

// The configuration must be validated: its device strings parse.
Device device_of(const config::Port& port);

// Return what is known of each port's device without touching it, in the order of the ports.
std::vector<eal::DeviceInfo> assumed_device_info(const config::Config& config);

}  // namespace unecho::appliance
