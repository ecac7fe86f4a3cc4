// SPDX-License-Identifier: BSD-3-Clause
// A port of net_ring: what a test puts into its rx rings is received, what is sent lies in its tx
// rings, which are as large as asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "appliance/eal/ports/ring.h"
#include "base/ids.h"
#include "mbufs.h"

namespace unecho::test {

// mbuf by mbuf out of a ring, freed.
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

    // In the place of the driver, which does not tell the depth of a queue.
    using Depth = std::uint32_t (*)(void* queue);
    static std::uint32_t count_waiting(void* queue);
    void tell_depth(Depth depth);

    void offer(rte_mbuf* mbuf, QueueId queue = 0);
    // All that was sent, by queue and order.
    std::vector<Bytes> sent();
    // Frees all that was sent.
    void discard();

  private:
    void start();

    std::string name_;
    std::vector<eal::Ring> rx_;
    std::vector<eal::Ring> tx_;
    PortId id_ = 0;
};

}  // namespace unecho::test
