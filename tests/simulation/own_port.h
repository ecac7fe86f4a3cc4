// SPDX-License-Identifier: BSD-3-Clause
// A DPDK port whose burst functions belong to a test.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "base/ids.h"

namespace unecho::test {

class OwnPort {
  public:
    // One rx queue. `context` is the queue argument of every burst call.
    struct Spec {
        unsigned tx_queues = 1;
        unsigned depth = 512;
        rte_mempool* pool = nullptr;
        eth_rx_burst_t receive = nullptr;
        eth_tx_burst_t transmit = nullptr;
        void* context = nullptr;
    };

    // Throws if the port cannot be made.
    OwnPort(const std::string& name, const Spec& spec);
    OwnPort(const OwnPort&) = delete;
    OwnPort& operator=(const OwnPort&) = delete;
    ~OwnPort() = default;

    [[nodiscard]] PortId id() const { return id_; }

  private:
    PortId id_ = 0;
    std::array<void*, 64> queues_{};
};

}  // namespace unecho::test
