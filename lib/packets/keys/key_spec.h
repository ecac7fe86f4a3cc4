// SPDX-License-Identifier: BSD-3-Clause
// KeySpec: every setting that decides whether two packets are the same.
#pragma once

#include <cstdint>

#include "packets/keys/key.h"
#include "packets/keys/observation.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::packet {

// Made once, then read by workers.
struct KeySpec {
    KeyMode mode = KeyMode::kPacket;
    NonIp non_ip = NonIp::kPass;  // not with kFrame, which compares everything
    Tunnels tunnels = {};         // not with kFrame
    Tenant tenant = Tenant::kIgnore;
    Tenant flow_tenant = Tenant::kMatch;          // for the flows by which two taps are compared
    Tags tags = Tags::kIgnore;                    // not with kFrame
    Checksums checksums = Checksums::kAsTheyAre;  // kPacket only
    // Number of bytes of the innermost packet that count, from its first; 0: all. kPacket only.
    std::uint32_t bytes = 0;
    // Both for kPacket and kFrame only.
    Repeats repeats = Repeats::kDrop;
    Point point = Point::kLink;
    bool evidence = false;  // identified packets are evidence that a population is mirrored twice
};

}  // namespace unecho::packet
