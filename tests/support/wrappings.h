// SPDX-License-Identifier: BSD-3-Clause
// Encapsulations around packets, for tests: every form of each, at random.
#pragma once

#include <cstdint>
#include <random>
#include <span>

#include "packets/tunnels/encapsulation.h"
#include "support/packet_builder.h"

namespace unecho::test {

using Draw = std::mt19937_64;

// What is wrapped, or has been: an IP packet, or an Ethernet frame.
struct Wrapped {
    Bytes bytes;
    bool ethernet = false;
};

struct Wrapping {
    const char* name;
    packet::Encapsulation encapsulation;
    bool takes_ethernet;  // what it holds is an Ethernet frame; else an IP packet
    bool gives_ethernet;  // it stands in one itself; else in an IP packet
    bool has_tenant;
    // inner as it takes it; number: of the tenant, where it has one.
    Bytes (*around)(const Bytes& inner, std::uint32_t number, Draw& draw);
};

// All forms of all encapsulations.
std::span<const Wrapping> wrappings();

// Whether it can hold this: an Ethernet frame does not go where an IP packet is wanted.
bool takes(const Wrapping& wrapping, const Wrapped& inner);

// An Ethernet header, with tags or not, is put around an IP packet where a frame is wanted.
Wrapped wrap(const Wrapping& wrapping, const Wrapped& inner, std::uint32_t number, Draw& draw);

// As it goes over a wire.
Bytes on_ethernet(const Wrapped& wrapped, Draw& draw);

}  // namespace unecho::test
