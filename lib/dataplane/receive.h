// SPDX-License-Identifier: BSD-3-Clause
// Packets as they come, from each rx queue of a worker in turn.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include <rte_ethdev.h>

#include "base/ids.h"
#include "dataplane/burst.h"
#include "dataplane/common.h"

namespace unecho::dataplane {

// What is done with an rx queue. A queue keeps its place among the worker's for good.
enum class SourceState : std::uint8_t {
    kOpen,
    kClosing,  // its port left all routes: what is held back of it goes on, nothing more is taken
    kClosed,   // nothing is held back either
};

// An rx queue, the worker's own.
struct RxSource {
    PortId port = 0;
    QueueId queue = 0;
    PortIndex index = 0;
    unsigned descriptors = 1024;  // packets that may wait there
    RouteIndex route = 0;         // of its packets
    SourceState state = SourceState::kOpen;
};

// Packets of one source that full rings to their owners refused, in order. They wait with the
// receiver, are tried again first, and are counted as received only when they go on.
struct HeldBack {
    std::array<rte_mbuf*, kMaxBurst> mbufs;
    unsigned count = 0;
};

struct ReceiveSetup {
    std::span<const RxSource> sources;
    // One for each source, and for those that may come; only where packets are steered live.
    std::span<HeldBack> held_back;
};

class LiveReceiver {
  public:
    LiveReceiver(const ReceiveSetup& setup, const WorkerCommon& common) noexcept
        : setup_(setup), burst_(common.burst) {}

    [[nodiscard]] std::span<const RxSource> sources() const noexcept { return setup_.sources; }
    // Where what is refused of a source's packets goes; null: there is no such place.
    [[nodiscard]] HeldBack* held_back(std::size_t source) const noexcept {
        return setup_.held_back.empty() ? nullptr : &setup_.held_back[source];
    }

    // A burst of a source: what was held back of it, and nothing else until that is gone; then, if
    // refill, what its queue has. Whether more may wait.
    [[nodiscard]] bool receive(std::size_t source, bool refill, Burst& burst) noexcept {
        if (HeldBack* held = held_back(source); held != nullptr && held->count != 0) {
            burst.count = held->count;
            std::copy_n(held->mbufs.begin(), held->count, burst.mbufs.begin());
            held->count = 0;
            return true;  // the queue was not looked at
        }
        burst.count = 0;
        const RxSource& from = setup_.sources[source];
        if (refill && from.state == SourceState::kOpen) {
            burst.count = rte_eth_rx_burst(from.port, from.queue, burst.mbufs.data(),
                                           static_cast<std::uint16_t>(burst_));
        }
        return burst.count == burst_;
    }

    // Nothing is held back of a source that the setup closes.
    [[nodiscard]] bool may_adopt(const ReceiveSetup& setup) const noexcept {
        for (std::size_t i = 0; i < setup_.held_back.size() && i < setup.sources.size(); ++i) {
            if (setup.sources[i].state == SourceState::kClosed && setup_.held_back[i].count != 0) {
                return false;
            }
        }
        return true;
    }
    void adopt(const ReceiveSetup& setup) noexcept { setup_.sources = setup.sources; }

    // What is held back, to handle(mbuf, source).
    template <typename Handle>
    void empty(Handle handle) noexcept {
        for (std::size_t i = 0; i < std::min(setup_.held_back.size(), setup_.sources.size()); ++i) {
            HeldBack& held = setup_.held_back[i];
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
