// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/plan/flow_sharding.h"

#include <fmt/core.h>

namespace unecho::appliance {
namespace {

// Why copies, or directions, do not all meet at one appliance.
struct Meets {
    const char* copies;      // null: all copies meet
    const char* directions;  // null: both directions meet
    bool by_ports = false;   // later fragments may part from whole packets of their flow
    bool inner = false;      // hashes the innermost packet of tunnels
};

Meets meets_of(Spread spread) {
    switch (spread) {
        case Spread::kSymmetricFlow:
            return {nullptr, nullptr, true, false};
        case Spread::kSymmetricAddresses:
            return {nullptr, nullptr, false, false};
        case Spread::kFlow:
            return {nullptr, "a packet and its answer are at different appliances", true, false};
        case Spread::kInner:
            return {nullptr, nullptr, true, true};
        case Spread::kMac:
            return {"copies part where a router, or another VLAN, lies between two taps",
                    "as far as both directions have the same two MAC addresses", false, false};
        case Spread::kMpls:
            return {"copies part where two taps see other labels", "labels are of one direction",
                    false, false};
        case Spread::kOther:
            return {"copies are anywhere", "directions are anywhere", false, false};
    }
    return {};
}

}  // namespace

std::vector<std::string> spread_warnings(const config::Config& config, Spread spread) {
    const Meets meets = meets_of(spread);
    std::vector<std::string> out;
    for (const config::Filter& filter : config.filters) {
        const auto warn = [&](const std::string& text) {
            out.push_back(fmt::format("filter \"{}\": {}", filter.name, text));
        };
        const bool whole_frames = filter.key == packet::KeyMode::kFrame;
        if (meets.copies != nullptr && !(whole_frames && spread == Spread::kMac)) {
            warn(std::string("misses: ") + meets.copies +
                 "; spread by a symmetric hash of addresses, protocol and ports");
        }
        if (filter.key == packet::KeyMode::kFlowBidir && meets.directions != nullptr) {
            warn(std::string("both directions are one flow here, but ") + meets.directions +
                 "; use a symmetric hash, or key = \"flow\"");
        }
        if (filter.tunnels.any() && !meets.inner && meets.copies == nullptr) {
            warn(
                "a packet and its copy in a tunnel part, and so do copies in different tunnels; "
                "use a hash of the innermost packet, or end the tunnels before");
        }
        if (filter.first > 1 && meets.by_ports) {
            warn(
                fmt::format("a flow's fragments have no ports and may be at another appliance than "
                            "its whole packets: up to {} of each pass",
                            filter.first));
        }
        if (filter.non_ip == packet::NonIp::kFrame && !whole_frames && spread != Spread::kMac &&
            spread != Spread::kOther) {
            warn(
                "frames without an IP packet are spread by their MAC addresses or not at all, as "
                "the switch does it: see that equal ones meet");
        }
    }
    return out;
}

}  // namespace unecho::appliance
