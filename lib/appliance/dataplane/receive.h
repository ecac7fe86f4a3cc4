// SPDX-License-Identifier: BSD-3-Clause
// Packets as they come, from each rx queue of a worker in turn.
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

// What is done with an rx queue. A queue keeps its place among the worker's for good.
enum class RxQueueState : std::uint8_t {
    kOpen,
    kClosing,  // its port left all routes: what is held back of it goes on, nothing more is taken
    kClosed,   // nothing is held back either
};

// An rx queue, the worker's own.
struct RxQueue {
    PortId port = 0;
    QueueId queue = 0;
    PortIndex index = 0;
    unsigned descriptors = 1024;  // packets that may wait there
    RouteIndex route = 0;         // of its packets
    RxQueueState state = RxQueueState::kOpen;
};

// Packets of one source that full rings to their owners refused, in order. They wait with the
// receiver, are tried again first, and are counted as received only when they go on.
struct Backlog {
    std::array<rte_mbuf*, kMaxBurst> mbufs;
    unsigned count = 0;
};

struct ReceiveSetup {
    std::span<const RxQueue> sources;
    // One for each source, and for those that may come; only where packets are steered live.
    std::span<Backlog> backlog;
};

class LiveReceiver {
  public:
    LiveReceiver(const ReceiveSetup& setup, const WorkerParameters& common) noexcept
        : setup_(setup), burst_(common.burst) {}

    [[nodiscard]] std::span<const RxQueue> sources() const noexcept { return setup_.sources; }
    // Where what is refused of a source's packets goes; null: there is no such place.
    [[nodiscard]] Backlog* backlog(std::size_t source) const noexcept {
        return setup_.backlog.empty() ? nullptr : &setup_.backlog[source];
    }

    // A burst of a source: what was held back of it, and nothing else until that is gone; then, if
    // refill, what its queue has. Whether more may wait.
    [[nodiscard]] bool receive(std::size_t source, bool refill, Burst& burst) noexcept {
        if (Backlog* held = backlog(source); held != nullptr && held->count != 0) {
            burst.count = held->count;
            std::copy_n(held->mbufs.begin(), held->count, burst.mbufs.begin());
            held->count = 0;
            return true;  // the queue was not looked at
        }
        burst.count = 0;
        const RxQueue& from = setup_.sources[source];
        if (refill && from.state == RxQueueState::kOpen) {
            burst.count = rte_eth_rx_burst(from.port, from.queue, burst.mbufs.data(),
                                           static_cast<std::uint16_t>(burst_));
        }
        return burst.count == burst_;
    }

    // Nothing is held back of a source that the setup closes.
    [[nodiscard]] bool can_apply_config(const ReceiveSetup& setup) const noexcept {
        for (std::size_t i = 0; i < setup_.backlog.size() && i < setup.sources.size(); ++i) {
            if (setup.sources[i].state == RxQueueState::kClosed && setup_.backlog[i].count != 0) {
                return false;
            }
        }
        return true;
    }
    void apply_config(const ReceiveSetup& setup) noexcept { setup_.sources = setup.sources; }

    // What is held back, to handle(mbuf, source).
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
