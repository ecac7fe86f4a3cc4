// SPDX-License-Identifier: BSD-3-Clause
// Warnings about a switch or packet broker that spreads flows over several appliances by a hash:
// each filter sees only the packets that reach its own appliance.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"

namespace unecho::appliance {

// The fields that the hash covers.
enum class Spread : std::uint8_t {
    kSymmetricFlow,       // outermost addresses, protocol, ports; both directions hash alike
    kSymmetricAddresses,  // outermost addresses; both directions hash alike
    kFlow,                // outermost addresses, protocol, ports, in their order
    kInner,               // as kSymmetricFlow, of the innermost packet
    kMac,                 // MAC addresses, VLAN, EtherType
    kMpls,                // labels
    kOther,               // ports, round robin, load: nothing that copies have in common
};
inline constexpr std::array<std::string_view, 7> kSpreadNames{
    "symmetric-flow", "symmetric-addresses", "flow", "inner", "mac", "mpls", "other"};

// Warn where copies, or the two directions of a flow, may reach different appliances, and say what
// to do. One line each; empty if all copies meet.
[[nodiscard]] std::vector<std::string> spread_warnings(const config::Config& config, Spread spread);

}  // namespace unecho::appliance
