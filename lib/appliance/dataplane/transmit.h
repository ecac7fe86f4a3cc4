// SPDX-License-Identifier: BSD-3-Clause
// Packets to the ports they go out by, and the count of what became of each. A tx queue belongs to
// one worker; the others hand it packets through rings, each with a tag of what was decided: who
// transmits also counts.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "appliance/dataplane/burst.h"
#include "appliance/dataplane/counters.h"
#include "appliance/dataplane/steering/inbound_rings.h"
#include "appliance/dataplane/worker_parameters.h"
#include "base/ids.h"
#include "dedup/pipeline/stages.h"

namespace unecho::dataplane {

struct TxTarget {
    PortId port = 0;
    QueueId queue = 0;
    rte_ring* ring = nullptr;  // to the worker that owns the queue; null: this worker does
};

// What a packet carries from the worker that decided to the one that transmits it.
struct TxTag {
    PortIndex to;
    std::uint8_t route;
    std::uint8_t reason;

    [[nodiscard]] static TxTag& of(rte_mbuf* mbuf, int offset) noexcept {
        return *RTE_MBUF_DYNFIELD(mbuf, offset, TxTag*);
    }
};

struct TransmitSetup {
    std::array<TxTarget, kMaxPorts> targets{};  // by PortIndex
    Rings in{};                                 // from workers that own no queue of some port
    int tag_offset = -1;                        // of TxTag in an mbuf; with several workers only
    // A full queue or ring is tried again for so long: a packet that is new and lost here would
    // have its copy dropped as an echo.
    std::uint64_t retry_cycles = 0;
};

class Transmitter {
  public:
    Transmitter(const TransmitSetup& setup, const WorkerParameters& common,
                Counters& counters) noexcept;

    // Rings that packets came by once stay open: some may be underway.
    void apply_config(const TransmitSetup& setup) noexcept {
        for (rte_ring* ring : setup.in) {
            in_.add(ring);
        }
        setup_ = setup;
    }

    // The packets of a mask, which is that of all outcomes together, to a port; mbufs: these
    // packets side by side, at least one. They are counted by who owns the tx queue; what is lost
    // on the way by who lost it.
    void deliver(const Burst& burst, std::span<rte_mbuf*> mbufs, PortIndex to, std::uint64_t mask,
                 std::span<const pipeline::ReasonMask> outcomes) noexcept;

    // Frees the packets; mbufs as above.
    void drop(const Burst& burst, std::span<rte_mbuf*> mbufs,
              const pipeline::ReasonMask& outcome) noexcept;

    // What other workers hand over, a burst from each.
    PollResult dequeue() noexcept;

    // In each ring to another worker.
    [[nodiscard]] bool has_room(unsigned packets) const noexcept;

    // What is left in the rings, to handle(mbuf, route).
    template <typename Handle>
    void empty(Handle handle) noexcept {
        in_.empty([&](void* entry) {
            auto* mbuf = static_cast<rte_mbuf*>(entry);
            handle(mbuf, TxTag::of(mbuf, setup_.tag_offset).route);
        });
    }

  private:
    struct Sent {
        std::uint64_t out = 0;   // accepted by the queue, or by the ring to its owner
        std::uint64_t lost = 0;  // freed
    };
    Sent send(std::span<rte_mbuf*> mbufs, const TxTarget& target, std::uint64_t mask) noexcept;
    unsigned to_queue(const TxTarget& target, rte_mbuf** mbufs, unsigned n) noexcept;
    unsigned to_ring(rte_ring* ring, rte_mbuf** mbufs, unsigned n) noexcept;
    template <typename Send>
    unsigned with_retries(unsigned n, Send send_behind) noexcept;
    void transmit_tagged(Burst& burst, std::span<const TxTag> tags, PortIndex to) noexcept;
    PacketBytes tally(const Burst& burst, pipeline::Reason reason, std::uint64_t mask) noexcept;

    TransmitSetup setup_;
    const TscClock& clock_;  // the worker's
    InboundRings in_;
    Counters& counters_;
};

}  // namespace unecho::dataplane
