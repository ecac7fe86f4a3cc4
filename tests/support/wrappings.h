// SPDX-License-Identifier: BSD-3-Clause
// Encapsulations around packets, for tests: every form of each, with random fields.
#pragma once

#include <cstdint>
#include <random>
#include <span>

#include "packets/tunnels/encapsulation.h"
#include "support/packet_builder.h"

namespace unecho::test {

using Draw = std::mt19937_64;

// An IP packet or an Ethernet frame, wrapped any number of times.
struct Wrapped {
    Bytes bytes;
    bool ethernet = false;
};

struct Wrapping {
    const char* name;
    packet::Encapsulation encapsulation;
    bool takes_ethernet;  // the inner packet must be an Ethernet frame; otherwise an IP packet
    bool gives_ethernet;  // the result is an Ethernet frame; otherwise an IP packet
    bool has_tenant;
    // inner: of the kind that `takes_ethernet` says; number: the tenant's, if the form has one.
    Bytes (*around)(const Bytes& inner, std::uint32_t number, Draw& draw);
};

// Return all forms of all encapsulations.
std::span<const Wrapping> wrappings();

// Return true if the wrapping can hold `wrapped`; an Ethernet frame fits only where one is taken.
bool takes(const Wrapping& wrapping, const Wrapped& inner);

// Wrap it, after adding an Ethernet header, tagged or not, to an IP packet where a frame is needed.
Wrapped wrap(const Wrapping& wrapping, const Wrapped& inner, std::uint32_t number, Draw& draw);

// Return the frame as it would appear on an Ethernet link.
Bytes on_ethernet(const Wrapped& wrapped, Draw& draw);

}  // namespace unecho::test
