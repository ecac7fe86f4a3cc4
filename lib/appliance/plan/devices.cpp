// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/plan/devices.h"

#include "config/devices/device.h"

namespace unecho::appliance {

Device device_of(const config::Port& port) {
    return config::parse_device(port.device).value_or(Device{});
}

std::vector<eal::DeviceInfo> assumed_device_info(const config::Config& config) {
    std::vector<eal::DeviceInfo> facts;
    for (const config::Port& port : config.ports) {
        facts.push_back(eal::assumed_device_info(device_of(port)));
    }
    return facts;
}

}  // namespace unecho::appliance
