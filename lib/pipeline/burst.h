// SPDX-License-Identifier: BSD-3-Clause
// The unit of the packet path: up to 64 packets of one link type, as a structure of arrays. Stages
// fill it from left to right; masks say what is known of which packet.
#pragma once

#include <array>
#include <cstdint>

#include "base/ids.h"
#include "base/units.h"
#include "filter/sets/shbf_a.h"
#include "hash/digest.h"
#include "packet/digests.h"
#include "packet/frame.h"
#include "packet/link.h"
#include "packet/parse.h"
#include "packet/tunnels.h"

namespace unecho::pipeline {

struct Burst {
    unsigned count = 0;
    packet::Link link = packet::Link::kEthernet;  // of all packets
    std::uint64_t bytes = 0;                      // of all packets

    // By whoever has the packets: their contiguous bytes, and how long they are.
    std::array<packet::Frame, kMaxBurst> frames;
    std::array<std::uint32_t, kMaxBurst> lengths;
    std::uint64_t too_long = 0;                    // frames that could not be made contiguous
    std::array<Nanoseconds, kMaxBurst> times;      // capture clock only; never decrease
    std::array<filter::SetOfTwo, kMaxBurst> taps;  // where flows of taps are reported

    packet::ParsedBurst parsed;             // stage parse
    packet::OpenedBurst opened;             // stage parse, where tunnels are looked into
    std::array<Digest, kMaxBurst> digests;  // stage digest, where keyed
    packet::KeyMasks keys;                  // stage digest
    std::uint64_t echoes = 0;               // stage decide
    std::uint64_t doubts = 0;               // stage decide: matches that may be accidents
};

}  // namespace unecho::pipeline
