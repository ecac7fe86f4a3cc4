// SPDX-License-Identifier: BSD-3-Clause
// The unit of the packet path: up to 64 packets of one link type, as a structure of arrays. The
// stages fill its members in order. In a 64-bit mask, bit i belongs to packet i.
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

// Packets by the port that first saw their key, and by their own port.
using PortPairMatrix = std::array<std::array<std::uint64_t, kMaxPorts>, kMaxPorts>;

struct Burst {
    unsigned count = 0;
    packet::LinkType link = packet::LinkType::kEthernet;  // of all packets
    std::uint64_t bytes = 0;                              // of all packets

    // Set by the owner of the packets: their contiguous bytes, and their lengths.
    std::array<packet::Frame, kMaxBurst> frames;
    std::array<std::uint32_t, kMaxBurst> lengths;
    std::uint64_t too_long = 0;                    // frames that could not be made contiguous
    std::array<Nanoseconds, kMaxBurst> times;      // capture clock only; never decrease
    std::array<filter::SetOfTwo, kMaxBurst> taps;  // where flows of taps are reported
    // For packets that the union rule reads: the port of each, and that port's group.
    std::array<PortIndex, kMaxBurst> ports;
    std::array<std::uint32_t, kMaxBurst> groups;

    packet::ParsedBurst parsed;             // stage parse
    packet::DecapsulatedBurst opened;       // stage parse, if tunnels are opened
    std::array<Digest, kMaxBurst> digests;  // stage digest, where keyed
    packet::KeyMasks keys;                  // stage digest
    // Stage digest, if repeats are kept: packets that do not identify their transmission, and where
    // each was seen; with evidence, where all were seen.
    std::uint64_t unidentified = 0;
    std::array<packet::ObservationPoint, kMaxBurst> places;
    std::uint64_t echoes = 0;  // stage decide
    std::uint64_t doubts = 0;  // stage decide: uncertain matches

    // Return the packets that a filter decides: keyed ones, except those of the union rule.
    [[nodiscard]] std::uint64_t filtered() const noexcept { return keys.keyed & ~unidentified; }
};

}  // namespace unecho::pipeline
