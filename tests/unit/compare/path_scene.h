// SPDX-License-Identifier: BSD-3-Clause
// A simulated path between two points, with what is true of it: which packets were lost, how late
// the others came.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/units.h"
#include "support/packet_builder.h"
#include "unit/captures/folder.h"

namespace unecho::compare {

struct SceneSpec {
    std::size_t packets = 4000;
    double seconds = 4;
    unsigned version = 4;
    double loss = 0.01;
    double back_share = 0.4;           // of the packets that go from b to a
    Nanoseconds delay = kMillisecond;  // at least, from a to b
    Nanoseconds delay_back = 2 * kMillisecond;
    double jitter = 1e5;      // mean of an exponential part of the delay, in ns
    std::int64_t offset = 0;  // of clock b, in ns
    double drift = 0;         // of clock b
    unsigned hops = 0;        // TTL steps from a to b
    double duplicates = 0;    // share that b shows twice
    double overlooked = 0;    // share that the first point of its path does not show
    double repeats = 0;       // share of equal packets, in a row
    unsigned hosts = 5;       // on each side
    bool clear_ends = true;   // nothing is lost in the first and last tenth
    // Returns what b shows of a packet, given with b's TTL. Without it, b shows that packet.
    std::function<test::Bytes(const test::PacketSpec&)> at_b = {};
    std::uint64_t seed = 1;
};

struct TruePath {
    std::uint64_t sent = 0;
    std::uint64_t lost = 0;
    std::uint64_t overlooked = 0;  // of those that arrived
    std::vector<std::int64_t> delays;
};

struct Scene {
    TruePath there;
    TruePath back;
    std::uint64_t duplicates = 0;
};

// Write a.pcap and b.pcap into the folder, with nanoseconds.
Scene make_scene(const SceneSpec& spec, const capture::Folder& folder);

}  // namespace unecho::compare
