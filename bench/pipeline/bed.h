// SPDX-License-Identifier: BSD-3-Clause
// What workers under measurement stand on: packet buffers that hold frames, a port whose queues are
// rings at both ends, and a setup with one filter and one route.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "appliance/dataplane/worker.h"
#include "appliance/eal/ports/mempool.h"
#include "appliance/eal/ports/ring.h"
#include "appliance/eal/session.h"
#include "base/ids.h"
#include "base/result.h"
#include "subject.h"

namespace unecho::bench {

// One lcore for each CPU, from 0 on.
eal::SessionOptions session_options(const std::string& program, std::span<const unsigned> cpus,
                                    bool hugepages);

// At least so many packet buffers. Every one has been filled once, so that whichever comes next
// holds a frame.
Result<eal::Mempool> make_frames(unsigned mbufs, bool has_hugepages);

// Queue i of both directions is worker i's. Whoever measures puts packets into rx() and takes them
// from tx(), a window at a time.
class RingPort {
  public:
    static Result<std::unique_ptr<RingPort>> make(unsigned queues, unsigned window,
                                                  rte_mempool* pool);
    ~RingPort();
    RingPort(const RingPort&) = delete;
    RingPort& operator=(const RingPort&) = delete;
    RingPort(RingPort&&) = delete;
    RingPort& operator=(RingPort&&) = delete;

    [[nodiscard]] PortId id() const { return id_; }

    // To be received.
    void load(QueueId queue, std::span<rte_mbuf* const> mbufs) {
        rte_ring_enqueue_bulk(rx_[queue].get(), reinterpret_cast<void* const*>(mbufs.data()),
                              static_cast<unsigned>(mbufs.size()), nullptr);
    }
    // What was sent; how many.
    unsigned take_sent(QueueId queue, std::span<rte_mbuf*> mbufs) {
        return rte_ring_dequeue_burst(tx_[queue].get(), reinterpret_cast<void**>(mbufs.data()),
                                      static_cast<unsigned>(mbufs.size()), nullptr);
    }

  private:
    RingPort() = default;
    Status start(unsigned queues, rte_mempool* pool);

    std::vector<eal::Ring> rx_;
    std::vector<eal::Ring> tx_;
    PortId id_ = 0;
    bool open_ = false;
};

// A clock for workers with this subject, from `base` on. Time stands still for the exact table,
// which is then always full: the oldest entry gives way to a new one, as it does when it expires.
// Where generations turn by the keys inserted, a cycle counts as a millisecond, so that each has
// had its length.
dataplane::TscClock clock_of(const Subject& subject, std::uint64_t base);

// The parts of a setup that are the same however packets come: everything from a source of route 0
// goes through the subject's filter and out by the port's queue; no pause is one of a worker that
// was away.
void wire(dataplane::WorkerSetup& setup, Subject& subject, const RingPort& port, QueueId queue);

}  // namespace unecho::bench
