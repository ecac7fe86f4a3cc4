// SPDX-License-Identifier: BSD-3-Clause
// The device string of a port, taken apart: "net_pcap0,rx_pcap=a.pcap" or "0000:3b:00.0". Says
// nothing of whether the device is there.
#pragma once

#include <string_view>

#include "base/os/device.h"
#include "base/result.h"

namespace unecho::config {

// What parse_device() takes, for messages.
inline constexpr std::string_view kDeviceForms =
    "a vdev, as in \"net_af_packet0,iface=eth0\", or a PCI address, as in \"0000:3b:00.0\"";

// Errc::kInvalidArgument if it is neither.
Result<Device> parse_device(std::string_view text);

}  // namespace unecho::config
