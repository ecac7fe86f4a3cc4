// SPDX-License-Identifier: BSD-3-Clause
#include "device.h"

#include <algorithm>
#include <stdexcept>

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_ring.h>

#include "eal/mbufs.h"
#include "watched_calls.h"

namespace unecho::test {
namespace {

// A call to a full queue takes so long.
constexpr Nanoseconds kRefusal = 300;

void check(int code, const char* what) {
    if (code < 0) {
        throw std::runtime_error(std::string(what) + ": " + std::to_string(code));
    }
}

}  // namespace

PacketNumber::PacketNumber() : offset_(0) {
    const rte_mbuf_dynfield field{"simulation_number", sizeof(std::uint32_t),
                                  alignof(std::uint32_t), 0};
    offset_ = rte_mbuf_dynfield_register(&field);
    check(offset_, "a field of packet buffers");
}

// A port of net_ring, for all that a port is beside its bursts.
Device::Device(unsigned number) {
    const std::string name = "sim" + std::to_string(number);
    rte_ring* const ring = rte_ring_create(name.c_str(), 64, SOCKET_ID_ANY, 0);
    std::array<rte_ring*, kQueues> rings;
    rings.fill(ring);
    const int port = ring == nullptr ? -1
                                     : rte_eth_from_rings(name.c_str(), rings.data(), 1,
                                                          rings.data(), kQueues, SOCKET_ID_ANY);
    check(port, "a port");
    id_ = static_cast<PortId>(port);
    const rte_eth_conf conf{};
    check(rte_eth_dev_configure(id_, 1, kQueues, &conf), "a port's configuration");
    check(rte_eth_rx_queue_setup(id_, 0, kDepth, SOCKET_ID_ANY, nullptr, packet_pool()), "rx");
    for (QueueId q = 0; q < kQueues; ++q) {
        check(rte_eth_tx_queue_setup(id_, q, kDepth, SOCKET_ID_ANY, nullptr), "tx");
    }
    check(rte_eth_dev_start(id_), "a port's start");
    queues_.fill(this);
    auto& ops = rte_eth_fp_ops[id_];
    ops.rx_pkt_burst = receive;
    ops.tx_pkt_burst = transmit;
    ops.rxq.data = queues_.data();
    ops.txq.data = queues_.data();
}

bool Device::offer(rte_mbuf* mbuf, Nanoseconds due) {
    if (waiting_.size() >= kDepth) {
        return false;
    }
    waiting_.push_back(mbuf);
    due_.push_back(due_.empty() ? due : std::max(due, due_.back()));
    return true;
}

void Device::reset() {
    for (rte_mbuf* mbuf : waiting_) {
        rte_pktmbuf_free(mbuf);
    }
    waiting_.clear();
    due_.clear();
    taken_ = 0;
    behaviour_ = {};
}

std::uint16_t Device::receive(void* queue, rte_mbuf** mbufs, std::uint16_t n) {
    const WatchedCalls::Excused excused;
    return static_cast<Device*>(queue)->give(mbufs, n);
}

std::uint16_t Device::transmit(void* queue, rte_mbuf** mbufs, std::uint16_t n) {
    const WatchedCalls::Excused excused;
    return static_cast<Device*>(queue)->take(mbufs, n);
}

std::uint16_t Device::give(rte_mbuf** mbufs, std::uint16_t n) {
    std::uint16_t given = 0;
    while (given < n && behaviour_.link_up && !due_.empty() && due_.front() <= *behaviour_.clock) {
        mbufs[given++] = waiting_.front();
        waiting_.pop_front();
        due_.pop_front();
        ++taken_;
    }
    return given;
}

std::uint16_t Device::take(rte_mbuf** mbufs, std::uint16_t n) {
    const unsigned room = behaviour_.link_up ? std::min<unsigned>(n, behaviour_.accepts(n)) : 0;
    if (room < n) {
        *behaviour_.clock += kRefusal;
    }
    for (unsigned i = 0; i < room; ++i) {
        behaviour_.sent(mbufs[i]);
        rte_pktmbuf_free(mbufs[i]);
    }
    return static_cast<std::uint16_t>(room);
}

}  // namespace unecho::test
