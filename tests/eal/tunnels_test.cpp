// SPDX-License-Identifier: BSD-3-Clause
// Tunnelled packets on several workers: copies meet in whatever tunnels they arrived, inner flows
// keep their order, and each packet is counted once.
#include <cstdint>

#include <gtest/gtest.h>

#include "packets.h"
#include "rig.h"
#include "support/wrappings.h"

namespace unecho::test {
namespace {

using Tunnels = EalTest;

constexpr unsigned kWorkers = 3;

// Return as many taps as workers, and one tool, the last port.
Layout looking_taps(packet::KeyMode key) {
    Layout layout;
    layout.workers = kWorkers;
    layout.ports.resize(kWorkers + 1);
    layout.routes = {{{0, 1, 2}, kWorkers}};
    layout.filters[0].key = key;
    layout.filters[0].tunnels = packet::EncapsulationSet::all();
    return layout;
}

Wrapped inner_of(unsigned flow, unsigned number) {
    return {build_ip(spec_of(flow, number))};
}

// Return the packet in a random tunnel that can carry it, with random outer headers and one tenant.
Bytes tunnelled(unsigned flow, unsigned number, Draw& draw) {
    const auto all = wrappings();
    for (;;) {
        const Wrapping& one = all[draw() % all.size()];
        if (const Wrapped packet = inner_of(flow, number); takes(one, packet)) {
            return on_ethernet(wrap(one, packet, 7, draw), draw);
        }
    }
}

packet::TunnelCounters counted(Rig& rig) {
    packet::TunnelCounters sum;
    for (WorkerIndex w = 0; w < kWorkers; ++w) {
        fold(packet::kTunnelCounters, rig.worker(w).counters().tunnels[0], sum);
    }
    return sum;
}

TEST_F(Tunnels, bring_copies_on_ports_of_different_workers_together) {
    for (const packet::KeyMode key : {packet::KeyMode::kPacket, packet::KeyMode::kFlow}) {
        Layout layout = looking_taps(key);
        layout.filters[0].tenant = packet::Tenant::kIgnore;
        Rig rig(layout);
        Draw draw(1);
        constexpr unsigned kPackets = 600;
        unsigned wrapped = 0;
        for (unsigned i = 0; i < kPackets; ++i) {
            for (unsigned copy = 0; copy < kWorkers; ++copy) {
                const bool plain = draw() % 3 == 0;
                wrapped += plain ? 0 : 1;
                rig.offer(static_cast<PortIndex>((i + copy) % kWorkers),
                          plain ? packet(i) : tunnelled(i, 0, draw));
            }
            for (std::uint64_t polls = draw() % 3; polls != 0; --polls) {
                rig.poll(static_cast<WorkerIndex>(draw() % kWorkers));
            }
        }
        rig.settle();
        EXPECT_EQ(rig.count(Reason::kNew), kPackets);
        EXPECT_EQ(rig.count(Reason::kEcho), kPackets * (kWorkers - 1));
        EXPECT_EQ(rig.sent(kWorkers).size(), kPackets);
        // Counted by the filtering worker only, not also by the receiving one.
        const packet::TunnelCounters sum = counted(rig);
        EXPECT_EQ(sum.opened, wrapped);
        EXPECT_EQ(sum.fragments + sum.malformed + sum.other + sum.too_deep, 0U);
        for (WorkerIndex w = 0; w < kWorkers; ++w) {
            EXPECT_GT(rig.filter_counters(w).insertions, 0U) << "worker " << w << " owns nothing";
        }
    }
}

// Bursts reuse the same memory, also those of other filters.
TEST_F(Tunnels, of_a_burst_are_none_of_the_next_filters) {
    Layout layout;
    layout.ports.resize(8);
    layout.filters.resize(3);
    layout.filters[0].tunnels = packet::EncapsulationSet::all();
    layout.filters[1].key = packet::KeyMode::kFlow;
    layout.filters[2].key = packet::KeyMode::kFrame;
    layout.routes = {{{0}, 4, 0}, {{1}, 5, 1}, {{2}, 6, 0}, {{3}, 7, 2}};
    Rig rig(layout);
    Draw draw(4);
    constexpr unsigned kRounds = 20;
    for (unsigned round = 0; round < kRounds; ++round) {
        rig.offer(0, tunnelled(round, 0, draw));
        rig.offer(2, tunnelled(round + kRounds, 0, draw));
        for (unsigned again = 0; again < 2; ++again) {
            rig.offer(1, packet(round));
            rig.offer(3, packet(round));
            rig.poll();  // the second time without packets in front of them
        }
    }
    rig.settle();
    const auto& counted = rig.worker().counters().tunnels;
    EXPECT_EQ(counted[0].opened, 2 * kRounds);
    EXPECT_EQ(counted[1].opened, 0U);
    EXPECT_EQ(counted[2].opened, 0U);
    for (const RouteIndex route : {1, 3}) {
        EXPECT_EQ(rig.count(Reason::kNew, route), kRounds) << "route " << route;
        EXPECT_EQ(rig.count(Reason::kEcho, route), kRounds) << "route " << route;
    }
    for (const PortIndex port : {4, 5, 6, 7}) {
        rig.sent(port);
    }
}

}  // namespace
}  // namespace unecho::test
