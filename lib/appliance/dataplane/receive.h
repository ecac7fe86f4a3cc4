// SPDX-License-Identifier: BSD-3-Clause
// Receives packets as they arrive, from each rx queue of a worker in turn.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include <rte_ethdev.h>

#include "appliance/dataplane/burst.h"
#include "appliance/dataplane/worker_parameters.h"
#include "base/ids.h"

namespace unecho::dataplane {

// The state of an rx queue. A queue keeps its index among the worker's queues for good.
enum class RxQueueState : std::uint8_t {
    kOpen,
    kClosing,  // its port left all routes: its backlog is still processed, nothing more is received
    kClosed,   // the backlog is empty, too
};

struct RxQueue {
    PortId port = 0;
    QueueId queue = 0;
    PortIndex index = 0;
    unsigned descriptors = 1024;  // packets that may wait in it
    RouteIndex route = 0;         // that its packets take
    RxQueueState state = RxQueueState::kOpen;
};

// Packets of one source that full rings to their owners refused, in order. They wait with the
// receiver, are tried again first, and are counted as received only when they continue.
struct Backlog {
    std::array<rte_mbuf*, kMaxBurst> mbufs;
    unsigned count = 0;
};

struct ReceiveSetup {
    std::span<const RxQueue> sources;
    // One for each source, including sources that a reload may add; only where live packets are
    // steered.
    std::span<Backlog> backlog;
};

class LiveReceiver {
  public:
    LiveReceiver(const ReceiveSetup& setup, const WorkerParameters& common) noexcept
        : setup_(setup), burst_(common.burst) {}

    [[nodiscard]] std::span<const RxQueue> sources() const noexcept { return setup_.sources; }
    // Return the backlog of a source; null: packets are not steered.
    [[nodiscard]] Backlog* backlog(std::size_t source) const noexcept {
        return setup_.backlog.empty() ? nullptr : &setup_.backlog[source];
    }

    // Receive a burst of a source: its backlog alone, if there is one; otherwise, if `refill`,
    // packets of its queue. Return true if more packets may wait.
    [[nodiscard]] bool receive(std::size_t source, bool refill, Burst& burst) noexcept {
        if (Backlog* held = backlog(source); held != nullptr && held->count != 0) {
            burst.count = held->count;
            std::copy_n(held->mbufs.begin(), held->count, burst.mbufs.begin());
            held->count = 0;
            return true;  // the queue was not polled
        }
        burst.count = 0;
        const RxQueue& from = setup_.sources[source];
        if (refill && from.state == RxQueueState::kOpen) {
            burst.count = rte_eth_rx_burst(from.port, from.queue, burst.mbufs.data(),
                                           static_cast<std::uint16_t>(burst_));
        }
        return burst.count == burst_;
    }

    // Return true if the backlog of every source that the setup closes is empty.
    [[nodiscard]] bool can_apply_config(const ReceiveSetup& setup) const noexcept {
        for (std::size_t i = 0; i < setup_.backlog.size() && i < setup.sources.size(); ++i) {
            if (setup.sources[i].state == RxQueueState::kClosed && setup_.backlog[i].count != 0) {
                return false;
            }
        }
        return true;
    }
    void apply_config(const ReceiveSetup& setup) noexcept { setup_.sources = setup.sources; }

    // Call handle(mbuf, source) for each packet of the backlogs, and empty them.
    template <typename Handle>
    void empty(Handle handle) noexcept {
        for (std::size_t i = 0; i < std::min(setup_.backlog.size(), setup_.sources.size()); ++i) {
            Backlog& held = setup_.backlog[i];
            for (unsigned k = 0; k < held.count; ++k) {
                handle(held.mbufs[k], setup_.sources[i]);
            }
            held.count = 0;
        }
    }

  private:
    ReceiveSetup setup_;
    unsigned burst_;
};

}  // namespace unecho::dataplane
