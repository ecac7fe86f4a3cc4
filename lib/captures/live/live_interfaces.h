// SPDX-License-Identifier: BSD-3-Clause
// The interfaces that can be captured from, their link types, and a check of filter expressions:
// all that needs no permission to capture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace unecho::capture {

// Linux's name for all interfaces together.
inline constexpr const char* kAnyInterface = "any";

struct LiveInterface {
    std::string name;
    std::string description;  // often empty
    bool up = false;
    bool network = false;  // of the network, or all of them; libpcap also lists USB and the like
};

// List the interfaces in libpcap's order. Errc::kIo.
Result<std::vector<LiveInterface>> live_interfaces();

// A link type as pcap-linktype(7) names it.
struct LiveLink {
    int dlt = 0;
    std::string name;
    std::string description;
};

// Return the link type of an interface, from the hardware that the kernel reports. Errc::kNotFound.
Result<LiveLink> live_link(const std::string& interface);

// Check an expression for that link type. Errc::kConfig, with libpcap's message.
Status check_live_filter(const std::string& expression, const LiveLink& link);

}  // namespace unecho::capture
