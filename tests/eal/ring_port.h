// SPDX-License-Identifier: BSD-3-Clause
// A net_ring port: the worker receives what a test puts into its rx rings. Sent packets wait in its
// tx rings, whose size the test chooses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "appliance/eal/ports/ring.h"
#include "base/ids.h"
#include "mbufs.h"

namespace unecho::test {

// Dequeue and free all packets of a ring, and return their bytes.
std::vector<Bytes> drain(rte_ring* ring);

class RingPort {
  public:
    RingPort(unsigned rx_queues, unsigned tx_queues, unsigned tx_size);
    ~RingPort();
    RingPort(const RingPort&) = delete;
    RingPort& operator=(const RingPort&) = delete;

    [[nodiscard]] PortId id() const { return id_; }
    [[nodiscard]] rte_ring* rx(QueueId queue) const { return rx_[queue].get(); }
    [[nodiscard]] rte_ring* tx(QueueId queue) const { return tx_[queue].get(); }
    [[nodiscard]] unsigned tx_queues() const { return static_cast<unsigned>(tx_.size()); }

    // Replace the driver's queue depth function, which net_ring does not have.
    using Depth = std::uint32_t (*)(void* queue);
    static std::uint32_t count_waiting(void* queue);
    void tell_depth(Depth depth);

    void offer(rte_mbuf* mbuf, QueueId queue = 0);
    // Return all packets sent, by queue and in order.
    std::vector<Bytes> sent();
    // Free all packets sent.
    void discard();

  private:
    void start();

    std::string name_;
    std::vector<eal::Ring> rx_;
    std::vector<eal::Ring> tx_;
    PortId id_ = 0;
};

}  // namespace unecho::test
