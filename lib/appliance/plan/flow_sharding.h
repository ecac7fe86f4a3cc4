// SPDX-License-Identifier: BSD-3-Clause
// A switch or packet broker that spreads flows over several appliances, by a hash: what that means
// for each filter, which sees the packets that come to its own appliance alone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"

namespace unecho::control {

// By what packets are spread.
enum class Spread : std::uint8_t {
    kSymmetricFlow,       // outermost addresses, protocol, ports; the same both ways
    kSymmetricAddresses,  // outermost addresses; the same both ways
    kFlow,                // outermost addresses, protocol, ports, in their order
    kInner,               // the same as the first, of the innermost packet
    kMac,                 // MAC addresses, VLAN, EtherType
    kMpls,                // labels
    kOther,               // ports, turns, load: nothing that copies have in common
};
inline constexpr std::array<std::string_view, 7> kSpreadNames{
    "symmetric-flow", "symmetric-addresses", "flow", "inner", "mac", "mpls", "other"};

// What copies, or directions, may part, and what to do about it; a line each, none if all is well.
[[nodiscard]] std::vector<std::string> spread_warnings(const config::Config& config, Spread spread);

}  // namespace unecho::control
