// SPDX-License-Identifier: BSD-3-Clause
// From a configured port to the device that DPDK is asked for.
#pragma once

#include <vector>

#include "appliance/eal/ports/port.h"
#include "base/os/device.h"
#include "config/schema.h"

namespace unecho::control {

// The configuration was validated: its device strings can be taken apart.
Device device_of(const config::Port& port);

// What is known of each port's device without touching it, in order.
std::vector<eal::DeviceInfo> assumed_device_info(const config::Config& config);

}  // namespace unecho::control
