// SPDX-License-Identifier: BSD-3-Clause
#include "ring_port.h"

#include <rte_bus_vdev.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>

namespace unecho::test {
namespace {

constexpr unsigned kRxSize = 8192;

std::vector<rte_ring*> handles(const std::vector<eal::Ring>& rings) {
    std::vector<rte_ring*> out;
    for (const eal::Ring& ring : rings) {
        out.push_back(ring.get());
    }
    return out;
}

eal::Ring new_ring(const std::string& name, unsigned size) {
    auto ring = eal::make_ring(name, size);
    EXPECT_TRUE(ring) << ring.error().context;
    return std::move(*ring);
}

}  // namespace

std::vector<Bytes> drain(rte_ring* ring) {
    std::vector<Bytes> out;
    void* object = nullptr;
    while (rte_ring_dequeue(ring, &object) == 0) {
        auto* mbuf = static_cast<rte_mbuf*>(object);
        out.push_back(bytes_of(mbuf));
        rte_pktmbuf_free(mbuf);
    }
    return out;
}

RingPort::RingPort(unsigned rx_queues, unsigned tx_queues, unsigned tx_size) {
    static unsigned number = 0;
    name_ = "test" + std::to_string(number++);
    for (unsigned q = 0; q < rx_queues; ++q) {
        rx_.push_back(new_ring(name_ + "_rx" + std::to_string(q), kRxSize));
    }
    for (unsigned q = 0; q < tx_queues; ++q) {
        tx_.push_back(new_ring(name_ + "_tx" + std::to_string(q), tx_size));
    }
    start();
}

void RingPort::start() {
    const std::vector<rte_ring*> rx = handles(rx_);
    const std::vector<rte_ring*> tx = handles(tx_);
    const int port = rte_eth_from_rings(name_.c_str(), rx.data(), static_cast<unsigned>(rx.size()),
                                        tx.data(), static_cast<unsigned>(tx.size()), 0);
    ASSERT_GE(port, 0);
    id_ = static_cast<PortId>(port);
    const rte_eth_conf conf{};
    ASSERT_EQ(rte_eth_dev_configure(id_, static_cast<std::uint16_t>(rx.size()),
                                    static_cast<std::uint16_t>(tx.size()), &conf),
              0);
    for (QueueId q = 0; q < rx.size(); ++q) {
        ASSERT_EQ(rte_eth_rx_queue_setup(id_, q, 512, 0, nullptr, packet_pool()), 0);
    }
    for (QueueId q = 0; q < tx.size(); ++q) {
        ASSERT_EQ(rte_eth_tx_queue_setup(id_, q, 512, 0, nullptr), 0);
    }
    ASSERT_EQ(rte_eth_dev_start(id_), 0);
}

RingPort::~RingPort() {
    rte_eth_dev_stop(id_);
    rte_eth_dev_close(id_);
    rte_vdev_uninit(("net_ring_" + name_).c_str());
    for (const auto* rings : {&rx_, &tx_}) {
        for (const eal::Ring& ring : *rings) {
            drain(ring.get());
        }
    }
}

// The driver's queue structure begins with the pointer to its ring.
std::uint32_t RingPort::count_waiting(void* queue) {
    return rte_ring_count(*static_cast<rte_ring**>(queue));
}

void RingPort::tell_depth(Depth depth) {
    if (depth != nullptr) {
        rte_eth_fp_ops[id_].rx_queue_count = depth;
    }
}

void RingPort::offer(rte_mbuf* mbuf, QueueId queue) {
    ASSERT_EQ(rte_ring_enqueue(rx(queue), mbuf), 0) << "more than the rx ring of a test holds";
}

std::vector<Bytes> RingPort::sent() {
    std::vector<Bytes> out;
    for (const eal::Ring& ring : tx_) {
        for (Bytes& bytes : drain(ring.get())) {
            out.push_back(std::move(bytes));
        }
    }
    return out;
}

void RingPort::discard() {
    for (const eal::Ring& ring : tx_) {
        void* object = nullptr;
        while (rte_ring_dequeue(ring.get(), &object) == 0) {
            rte_pktmbuf_free(static_cast<rte_mbuf*>(object));
        }
    }
}

}  // namespace unecho::test
