// SPDX-License-Identifier: BSD-3-Clause
// Types of frames without an IP packet, and their names: the one table of EtherTypes, PPP protocols
// and 802.11 frame types, for everything that counts or lists such frames.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "packets/keys/non_ip.h"
#include "packets/link.h"

namespace unecho::packet {

struct NonIpType {
    NonIpNumber what = NonIpNumber::kNone;
    std::uint16_t number = 0;  // with kNone the link type, whose frames are all of one type

    auto operator<=>(const NonIpType&) const = default;
};

// Stands for every length of 802.3.
inline constexpr NonIpType k8023{NonIpNumber::kEtherType, 0};

[[nodiscard]] NonIpType type_of(const NonIpFrame& frame) noexcept;

// Return "ARP", "802.3", "LCP", "management"; empty if the table has no name.
[[nodiscard]] std::string_view name_of(const NonIpType& type) noexcept;

}  // namespace unecho::packet
