// SPDX-License-Identifier: BSD-3-Clause
// The environment of workers under measurement: packet buffers that hold frames, a port whose
// queues are rings at both ends, and a configuration with one filter and one route.
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

// Return options with one lcore for each CPU, from lcore 0 on.
eal::SessionOptions session_options(const std::string& program, std::span<const unsigned> cpus,
                                    bool hugepages);

// Return a pool of at least so many packet buffers, each of which holds a frame from the start.
Result<eal::Mempool> make_frames(unsigned mbufs, bool has_hugepages);

// Queue i of both directions belongs to worker i. The benchmark puts packets into rx() and takes
// them from tx(), one window at a time.
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

    // Put packets into an rx queue.
    void load(QueueId queue, std::span<rte_mbuf* const> mbufs) {
        rte_ring_enqueue_bulk(rx_[queue].get(), reinterpret_cast<void* const*>(mbufs.data()),
                              static_cast<unsigned>(mbufs.size()), nullptr);
    }
    // Take packets from a tx queue; return their number.
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

// Return a clock for workers with this subject, from `base` on. For the exact table time stands
// still, so that it is always full and a new entry replaces the oldest as on expiry. Where
// generations turn by inserted keys, a cycle counts as 1 ms, so that each generation has had its
// length.
dataplane::TscClock clock_of(const Subject& subject, std::uint64_t base);

// Set up everything that does not depend on how packets arrive. Packets of route 0 pass the
// subject's filter and leave by the port's queue. No pause counts as that of an absent worker.
void wire(dataplane::WorkerSetup& setup, Subject& subject, const RingPort& port, QueueId queue);

}  // namespace unecho::bench
