// SPDX-License-Identifier: BSD-3-Clause
#include "device.h"

#include <algorithm>
#include <stdexcept>

#include "eal/mbufs.h"
#include "watched_calls.h"

namespace unecho::test {
namespace {

// duration of a call to a full queue
constexpr Nanoseconds kRefusal = 300;

}  // namespace

PacketNumber::PacketNumber() : offset_(0) {
    const rte_mbuf_dynfield field{"simulation_number", sizeof(std::uint32_t),
                                  alignof(std::uint32_t), 0};
    offset_ = rte_mbuf_dynfield_register(&field);
    if (offset_ < 0) {
        throw std::runtime_error("a field of packet buffers: " + std::to_string(offset_));
    }
}

Device::Device(unsigned number)
    : port_("sim" + std::to_string(number),
            {kQueues, kDepth, packet_pool(), receive, transmit, this}) {}

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
    behaviour_.asked();
    while (given < n && behaviour_.link_up && !due_.empty() && due_.front() <= *behaviour_.clock) {
        mbufs[given] = waiting_.front();
        behaviour_.given(mbufs[given++]);
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
