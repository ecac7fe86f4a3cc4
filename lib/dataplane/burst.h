// SPDX-License-Identifier: BSD-3-Clause
// The unit of the packet path: up to 64 packets of one route, as a structure of arrays. Stages fill
// it from left to right; masks say what is known of which packet.
#pragma once

#include <array>
#include <cstdint>

#include <rte_mbuf.h>

#include "base/ids.h"
#include "base/units.h"
#include "dataplane/counters.h"
#include "hash/digest.h"
#include "packet/key.h"
#include "packet/link.h"

namespace unecho::dataplane {

struct Burst {
    unsigned count = 0;
    RouteIndex route = 0;
    packet::Link link = packet::Link::kEthernet;  // of all packets
    std::uint64_t bytes = 0;                      // of all packets

    std::array<rte_mbuf*, kMaxBurst> mbufs;
    std::array<packet::Frame, kMaxBurst> frames;   // stage view
    std::array<std::uint32_t, kMaxBurst> lengths;  // stage view; of the whole packet
    std::array<Digest, kMaxBurst> digests;         // stage digest, where keyed
    std::array<Nanoseconds, kMaxBurst> times;      // capture clock only; never decrease

    packet::KeyMasks keys;       // stage digest
    std::uint64_t chained = 0;   // stage view: frames of several mbuf segments
    std::uint64_t too_long = 0;  // stage digest: chained ones that do not fit the scratch space
    std::uint64_t echoes = 0;    // stage decide
    std::uint64_t doubts = 0;    // stage decide: matches that may be accidents
};

}  // namespace unecho::dataplane
