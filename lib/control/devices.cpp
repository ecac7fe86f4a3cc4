// SPDX-License-Identifier: BSD-3-Clause
#include "control/devices.h"

#include "config/device.h"

namespace unecho::control {

eal::DeviceSpec device_of(const config::Port& port) {
    eal::DeviceSpec spec;
    if (const auto device = config::parse_device(port.device)) {
        spec.pci = device->bus == config::Bus::kPci;
        spec.name = device->name;
        spec.args = device->args;
    }
    return spec;
}

std::vector<eal::DeviceFacts> assumed_facts(const config::Config& config) {
    std::vector<eal::DeviceFacts> facts;
    for (const config::Port& port : config.ports) {
        facts.push_back(eal::assumed_facts(device_of(port)));
    }
    return facts;
}

}  // namespace unecho::control
