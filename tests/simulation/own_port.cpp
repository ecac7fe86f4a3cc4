// SPDX-License-Identifier: BSD-3-Clause
#include "own_port.h"

#include <stdexcept>
#include <vector>

#include <rte_eth_ring.h>
#include <rte_ring.h>

namespace unecho::test {
namespace {

void check(int code, const char* what) {
    if (code < 0) {
        throw std::runtime_error(std::string(what) + ": " + std::to_string(code));
    }
}

}  // namespace

// Makes a net_ring port, which supplies everything except the burst functions.
OwnPort::OwnPort(const std::string& name, const Spec& spec) {
    rte_ring* const ring = rte_ring_create(name.c_str(), 64, SOCKET_ID_ANY, 0);
    std::vector<rte_ring*> rings(spec.tx_queues, ring);
    const int port = ring == nullptr
                         ? -1
                         : rte_eth_from_rings(name.c_str(), rings.data(), 1, rings.data(),
                                              spec.tx_queues, SOCKET_ID_ANY);
    check(port, "a port");
    id_ = static_cast<PortId>(port);
    const rte_eth_conf conf{};
    const auto tx_queues = static_cast<std::uint16_t>(spec.tx_queues);
    const auto depth = static_cast<std::uint16_t>(spec.depth);
    check(rte_eth_dev_configure(id_, 1, tx_queues, &conf), "a port's configuration");
    check(rte_eth_rx_queue_setup(id_, 0, depth, SOCKET_ID_ANY, nullptr, spec.pool), "rx");
    for (QueueId q = 0; q < tx_queues; ++q) {
        check(rte_eth_tx_queue_setup(id_, q, depth, SOCKET_ID_ANY, nullptr), "tx");
    }
    check(rte_eth_dev_start(id_), "a port's start");
    queues_.fill(spec.context);
    auto& ops = rte_eth_fp_ops[id_];
    ops.rx_pkt_burst = spec.receive;
    ops.tx_pkt_burst = spec.transmit;
    ops.rxq.data = queues_.data();
    ops.txq.data = queues_.data();
}

}  // namespace unecho::test
