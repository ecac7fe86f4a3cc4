// SPDX-License-Identifier: BSD-3-Clause
// The interfaces that can be captured from, what comes from them, and whether a filter expression
// is one for it: all that can be known before capturing, without the right to capture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace unecho::capture {

// Linux's name for all interfaces at once.
inline constexpr const char* kAnyInterface = "any";

struct LiveInterface {
    std::string name;
    std::string description;  // often empty
    bool up = false;
    bool network = false;  // of the network, or all; libpcap has USB and the like as well
};

// In the order of libpcap. Errc::kIo.
Result<std::vector<LiveInterface>> live_interfaces();

// As pcap-linktype(7) has it.
struct LiveLink {
    int dlt = 0;
    std::string name;
    std::string description;
};

// Of the packets of a network interface, by what the kernel says of its hardware.
// Errc::kNotFound.
Result<LiveLink> live_link(const std::string& interface);

// Errc::kConfig: what libpcap does not understand of an expression for that link type.
Status check_live_filter(const std::string& expression, const LiveLink& link);

}  // namespace unecho::capture
