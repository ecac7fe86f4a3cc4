// SPDX-License-Identifier: BSD-3-Clause
#include "control/devices.h"

#include "config/device.h"

namespace unecho::control {

Device device_of(const config::Port& port) {
    return config::parse_device(port.device).value_or(Device{});
}

std::vector<eal::DeviceFacts> assumed_facts(const config::Config& config) {
    std::vector<eal::DeviceFacts> facts;
    for (const config::Port& port : config.ports) {
        facts.push_back(eal::assumed_facts(device_of(port)));
    }
    return facts;
}

}  // namespace unecho::control
