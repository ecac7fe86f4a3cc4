// SPDX-License-Identifier: BSD-3-Clause
// Transmits packets and counts the reason of each. A tx queue belongs to one worker. Other workers
// hand it packets through rings, tagged with their reason: the worker that transmits a packet also
// counts it.
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

// Travels with a packet from the worker that decided it to the one that transmits it.
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
    int tag_offset = -1;                        // of TxTag in an mbuf; only with several workers
    // A full queue or ring is retried for this long: if a new packet is lost here, its copy is
    // still dropped as an echo.
    std::uint64_t retry_cycles = 0;
};

class Transmitter {
  public:
    Transmitter(const TransmitSetup& setup, const WorkerParameters& common,
                Counters& counters) noexcept;

    // Rings that were in use stay open: packets may be in them.
    void apply_config(const TransmitSetup& setup) noexcept {
        for (rte_ring* ring : setup.in) {
            in_.add(ring);
        }
        setup_ = setup;
    }

    // Send the packets of a mask to a port. mbufs: these packets side by side, at least one;
    // outcomes: together name the whole mask. Packets are counted by the worker that owns the tx
    // queue, lost ones by the worker that lost them.
    void deliver(const Burst& burst, std::span<rte_mbuf*> mbufs, PortIndex to, std::uint64_t mask,
                 std::span<const pipeline::ReasonMask> outcomes) noexcept;

    // Free the packets. mbufs: as above.
    void drop(const Burst& burst, std::span<rte_mbuf*> mbufs,
              const pipeline::ReasonMask& outcome) noexcept;

    // Transmit what other workers handed over, a burst from each.
    PollResult dequeue() noexcept;

    // Return true if each ring to another worker has room for so many packets.
    [[nodiscard]] bool has_room(unsigned packets) const noexcept;

    // Pass everything that is left in the rings to handle(mbuf, route).
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
    const TscClock& clock_;
    InboundRings in_;
    Counters& counters_;
};

}  // namespace unecho::dataplane
