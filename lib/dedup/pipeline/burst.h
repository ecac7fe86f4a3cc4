// SPDX-License-Identifier: BSD-3-Clause
// The unit of the packet path: up to 64 packets of one link type, as a structure of arrays. Stages
// fill it from left to right; masks say what is known of which packet.
#pragma once

#include <array>
#include <cstdint>

#include "base/ids.h"
#include "base/units.h"
#include "filters/hash/digest.h"
#include "filters/sets/shifting/shbf_a.h"
#include "packets/frame.h"
#include "packets/keys/digests.h"
#include "packets/keys/observation.h"
#include "packets/link.h"
#include "packets/parse.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::pipeline {

// Packets by the port that their key was first seen at, and by their own.
using PortPairMatrix = std::array<std::array<std::uint64_t, kMaxPorts>, kMaxPorts>;

struct Burst {
    unsigned count = 0;
    packet::LinkType link = packet::LinkType::kEthernet;  // of all packets
    std::uint64_t bytes = 0;                              // of all packets

    // By whoever has the packets: their contiguous bytes, and how long they are.
    std::array<packet::Frame, kMaxBurst> frames;
    std::array<std::uint32_t, kMaxBurst> lengths;
    std::uint64_t too_long = 0;                    // frames that could not be made contiguous
    std::array<Nanoseconds, kMaxBurst> times;      // capture clock only; never decrease
    std::array<filter::SetOfTwo, kMaxBurst> taps;  // where flows of taps are reported
    // The port of each packet that the union rule looks at, and that port's group.
    std::array<PortIndex, kMaxBurst> ports;
    std::array<std::uint32_t, kMaxBurst> groups;

    packet::ParsedBurst parsed;             // stage parse
    packet::DecapsulatedBurst opened;       // stage parse, where tunnels are looked into
    std::array<Digest, kMaxBurst> digests;  // stage digest, where keyed
    packet::KeyMasks keys;                  // stage digest
    // Stage digest, where repeats are kept: packets that do not say which transmission they are,
    // and where each was seen; of all packets where the rule asks for it.
    std::uint64_t unidentified = 0;
    std::array<packet::ObservationPoint, kMaxBurst> places;
    std::uint64_t echoes = 0;  // stage decide
    std::uint64_t doubts = 0;  // stage decide: matches that may be accidents

    // Packets that a filter decides: keyed ones, but for those that the union rule decides.
    [[nodiscard]] std::uint64_t filtered() const noexcept { return keys.keyed & ~unidentified; }
};

}  // namespace unecho::pipeline
