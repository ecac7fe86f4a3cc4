// SPDX-License-Identifier: BSD-3-Clause
// The peer at both ends of an appliance's wires. It keeps its own account of each packet that it
// handed in: number, content, where it came out, and if it was unchanged and in order. It also
// accounts for each packet buffer. Packets are handed in by rounds, and a round is settled before
// the next begins. Errors are thrown, as one line.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <rte_mbuf.h>

#include "base/units.h"
#include "box.h"
#include "own_port.h"

namespace unecho::test {

inline constexpr unsigned kPeerFlows = 64;

// A packet of a round.
struct Handed {
    static constexpr std::uint8_t kNowhere = 0xFF;

    rte_mbuf* mbuf = nullptr;
    std::uint64_t key = 0;
    std::uint32_t round = 0;  // that brought its key first
    bool copy = false;
    std::uint8_t out = kNowhere;      // port that it came out at
    std::uint8_t refused = kNowhere;  // the last port that refused it

    [[nodiscard]] bool gone() const { return out == kNowhere; }
};

// Sums that change if a packet is lost, doubled or exchanged for another.
struct Account {
    std::uint64_t packets = 0;
    std::uint64_t numbers = 0;  // modulo 2^64
    std::uint64_t squares = 0;  // modulo 2^64

    void add(std::uint64_t number) {
        ++packets;
        numbers += number;
        squares += number * number;
    }
    void add(const Account& other) {
        packets += other.packets;
        numbers += other.numbers;
        squares += other.squares;
    }
    bool operator==(const Account&) const = default;
};

class Peer {
  public:
    static constexpr unsigned kMaxPackets = 512;  // in a round
    static constexpr unsigned kPorts = 4;  // a, b: into the appliance; tool, spare: out of it
    static constexpr unsigned kTool = 2;
    static constexpr unsigned kSpare = 3;

    // Writes a frame into every buffer of the pool.
    Peer(const Ground& ground, unsigned tx_queues);
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;
    ~Peer() = default;

    [[nodiscard]] std::vector<PortId> ports() const;
    [[nodiscard]] rte_mempool* pool() const { return pool_; }
    [[nodiscard]] unsigned buffers() const { return buffers_; }

    // Begin the flows of one appliance. Each refused transmit advances `clock`.
    void begin(Nanoseconds& clock, std::uint64_t seed);
    // Let one in n transmits accept only some packets, or none. 0: every transmit accepts all.
    void refuse_one_in(unsigned n) { refuse_one_in_ = n; }

    // Return the packets of the next round. Fill in all fields except mbuf, then call offer().
    std::span<Handed> next_round(unsigned packets);
    // Hand the round in: half of the flows at port b if there are two ports.
    void offer(bool two_ports);
    // Return how many packets of the round the appliance has not received yet.
    [[nodiscard]] unsigned waiting() const;
    [[nodiscard]] std::span<const Handed> round() const { return {round_.data(), packets_}; }
    // Throw an error found in packets that came out: transmits cannot throw through the worker.
    void check() const;
    // End the round: packets that did not come out are counted as dropped.
    void settle();

    // Check that every buffer of the pool is in it once, intact, and holds only our frame.
    void look_at_all();
    [[nodiscard]] const Account& handed() const { return handed_; }
    [[nodiscard]] const Account& sent() const { return sent_; }
    [[nodiscard]] const Account& dropped() const { return dropped_; }

  private:
    struct Wire {
        Peer* peer = nullptr;
        std::uint8_t number = 0;
        std::unique_ptr<OwnPort> port;
        std::array<rte_mbuf*, kMaxPackets> mbufs{};  // of the round
        unsigned next = 0;
        unsigned end = 0;
    };

    static std::uint16_t receive(void* queue, rte_mbuf** mbufs, std::uint16_t n);
    static std::uint16_t transmit(void* queue, rte_mbuf** mbufs, std::uint16_t n);
    std::uint16_t take(const Wire& wire, rte_mbuf** mbufs, std::uint16_t n);
    unsigned room_for(unsigned n);
    void take_one(const Wire& wire, const rte_mbuf& mbuf);
    Handed& handed_of(const rte_mbuf& mbuf);
    void write(const Handed& packet) const;
    [[nodiscard]] std::uint64_t& number_of(const rte_mbuf& mbuf) const {
        return *RTE_MBUF_DYNFIELD(const_cast<rte_mbuf*>(&mbuf), offset_, std::uint64_t*);
    }

    rte_mempool* pool_;
    unsigned buffers_;
    int offset_;
    std::vector<std::uint8_t> frame_;
    std::array<Wire, kPorts> wires_;
    std::array<Handed, kMaxPackets> round_;
    std::array<rte_mbuf*, kMaxPackets> mbufs_{};
    unsigned packets_ = 0;     // in the round
    std::uint64_t first_ = 1;  // number of the round's first packet
    std::array<std::uint64_t, kPeerFlows> last_of_flow_{};
    Nanoseconds* clock_ = nullptr;
    FastChance chance_{0};
    unsigned refuse_one_in_ = 0;
    std::string wrong_;
    Account handed_;
    Account sent_;
    Account dropped_;
};

}  // namespace unecho::test
