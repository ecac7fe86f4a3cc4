// SPDX-License-Identifier: BSD-3-Clause
// Parses the device string of a port: "net_pcap0,rx_pcap=a.pcap" or "0000:3b:00.0". The device need
// not exist.
#pragma once

#include <string_view>

#include "base/os/device.h"
#include "base/result.h"

namespace unecho::config {

// The forms that parse_device() accepts, for messages.
inline constexpr std::string_view kDeviceForms =
    "a vdev, as in \"net_af_packet0,iface=eth0\", or a PCI address, as in \"0000:3b:00.0\"";

// Parse a device string. Errc::kInvalidArgument: it has neither form.
Result<Device> parse_device(std::string_view text);

// An option of DPDK.
struct EalOption {
    bool known = false;
    std::string_view instead;  // the key from which it is made; empty: [eal] args may have it
};

// Match an argument as getopt_long() does: "-l0-3" is -l, "--vd=x" is --vdev.
EalOption eal_option(std::string_view argument);

}  // namespace unecho::config
