// SPDX-License-Identifier: BSD-3-Clause
// The device string of a port, taken apart: "net_pcap0,rx_pcap=a.pcap" or "0000:3b:00.0". Says
// nothing of whether the device is there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace unecho::config {

enum class Bus : std::uint8_t { kVdev, kPci };

struct Device {
    Bus bus = Bus::kVdev;
    std::string name;  // "net_pcap0"; PCI in full and in lower case, "0000:3b:00.0"
    std::vector<std::pair<std::string, std::string>> args;  // {"rx_pcap", "a.pcap"}, as written

    // The values of one argument, which may stand several times.
    [[nodiscard]] std::vector<std::string> values_of(std::string_view arg) const;
};

// What parse_device() takes, for messages.
inline constexpr std::string_view kDeviceForms =
    "a vdev, as in \"net_af_packet0,iface=eth0\", or a PCI address, as in \"0000:3b:00.0\"";

// Errc::kInvalidArgument if it is neither.
Result<Device> parse_device(std::string_view text);

}  // namespace unecho::config
