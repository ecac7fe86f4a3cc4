// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a frame's key, by the definition and without any regard to speed: what lib/packet is
// tested against. Shares no code with it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packet/key.h"
#include "packet/link.h"

namespace unecho::test {

enum class KeyOutcome { kKeyed, kNonIp, kMalformed };

struct ReferenceKey {
    KeyOutcome outcome;
    std::vector<std::uint8_t> bytes;  // empty unless keyed
    bool operator==(const ReferenceKey&) const = default;
};

ReferenceKey reference_key(packet::KeyMode mode, std::span<const std::uint8_t> frame,
                           packet::Link link = packet::Link::kEthernet);

// Of frames without an IP packet, where they are compared; the outcome of any other is that of its
// IP packet, without bytes.
ReferenceKey reference_non_ip_key(std::span<const std::uint8_t> frame,
                                  packet::Link link = packet::Link::kEthernet);

}  // namespace unecho::test
