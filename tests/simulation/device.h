// SPDX-License-Identifier: BSD-3-Clause
// The devices of a simulation: DPDK ports whose burst functions are in this file. Packets wait in a
// queue of bounded length and are received when they are due. A transmit accepts all, some or none.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "base/ids.h"
#include "base/units.h"
#include "own_port.h"

namespace unecho::test {

// The number that a packet buffer carries for the packet in it.
class PacketNumber {
  public:
    PacketNumber();
    [[nodiscard]] std::uint32_t& of(rte_mbuf* mbuf) const noexcept {
        return *RTE_MBUF_DYNFIELD(mbuf, offset_, std::uint32_t*);
    }

  private:
    int offset_;
};

class Device {
  public:
    static constexpr unsigned kQueues = 4;
    static constexpr unsigned kDepth = 512;

    // Hooks and state that one simulation sets.
    struct Behaviour {
        std::uint64_t* clock = nullptr;
        // Called at each transmit of n packets: returns how many are accepted.
        std::function<unsigned(unsigned n)> accepts;
        std::function<void(rte_mbuf* mbuf)> sent;
        // `asked` is called at each receive, then `given` for each packet that it returns.
        std::function<void()> asked;
        std::function<void(rte_mbuf* mbuf)> given;
        bool link_up = true;
    };

    explicit Device(unsigned number);
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device() = default;

    [[nodiscard]] PortId id() const { return port_.id(); }
    Behaviour& behaviour() { return behaviour_; }

    // Return false if the queue is full.
    bool offer(rte_mbuf* mbuf, Nanoseconds due);
    // The packets that wait, and the number of packets that were accepted of those offered.
    [[nodiscard]] const std::deque<rte_mbuf*>& waiting() const { return waiting_; }
    [[nodiscard]] std::uint64_t taken() const { return taken_; }
    // Free the packets that wait, for another simulation.
    void reset();

  private:
    static std::uint16_t receive(void* queue, rte_mbuf** mbufs, std::uint16_t n);
    static std::uint16_t transmit(void* queue, rte_mbuf** mbufs, std::uint16_t n);
    std::uint16_t give(rte_mbuf** mbufs, std::uint16_t n);
    std::uint16_t take(rte_mbuf** mbufs, std::uint16_t n);

    OwnPort port_;
    Behaviour behaviour_;
    std::deque<rte_mbuf*> waiting_;
    std::deque<Nanoseconds> due_;
    std::uint64_t taken_ = 0;
};

}  // namespace unecho::test
