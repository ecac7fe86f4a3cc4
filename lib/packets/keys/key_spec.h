// SPDX-License-Identifier: BSD-3-Clause
// All that decides whether two packets are the same.
#pragma once

#include <cstdint>

#include "packets/keys/key.h"
#include "packets/keys/observation.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::packet {

// Made once, read by workers.
struct KeySpec {
    KeyMode mode = KeyMode::kPacket;
    NonIp non_ip = NonIp::kPass;  // not with kFrame, which compares all
    Tunnels tunnels = {};         // not with kFrame
    Tenant tenant = Tenant::kIgnore;
    Tenant flow_tenant = Tenant::kMatch;          // of the flows that two taps are told apart by
    Tags tags = Tags::kIgnore;                    // not with kFrame
    Checksums checksums = Checksums::kAsTheyAre;  // kPacket only
    // Of the innermost packet, from its first byte, so many count; 0: all. kPacket only.
    std::uint32_t bytes = 0;
    // kPacket and kFrame only.
    Repeats repeats = Repeats::kDrop;
    Point point = Point::kLink;
    bool evidence = false;  // identified packets are evidence of doubled populations
};

}  // namespace unecho::packet
