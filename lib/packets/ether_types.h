// SPDX-License-Identifier: BSD-3-Clause
// What is in frames without an IP packet, and what it is called: the one table of names of
// EtherTypes, protocols of PPP and frames of 802.11, for all that counts or lists such frames.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "packets/keys/non_ip.h"
#include "packets/link.h"

namespace unecho::packet {

struct NonIpType {
    NonIpNumber what = NonIpNumber::kNone;
    std::uint16_t number = 0;  // with kNone that of the link type, whose frames are all alike

    auto operator<=>(const NonIpType&) const = default;
};

// Stands for every length of 802.3.
inline constexpr NonIpType k8023{NonIpNumber::kEtherType, 0};

[[nodiscard]] NonIpType type_of(const NonIpFrame& frame) noexcept;

// "ARP", "802.3", "LCP", "management"; empty if it has none here.
[[nodiscard]] std::string_view name_of(const NonIpType& type) noexcept;

}  // namespace unecho::packet
