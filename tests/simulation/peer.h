// SPDX-License-Identifier: BSD-3-Clause
// Both ends of an appliance's wires, who keeps an account of its own: of each packet handed in,
// numbered through, what was in it, and whether it came out, where, unchanged and in order; and of
// each packet buffer, where it is. Packets go in rounds: all of one are settled before the next.
// Throws what is wrong, one line.
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

// One packet of a round.
struct Handed {
    static constexpr std::uint8_t kNowhere = 0xFF;

    rte_mbuf* mbuf = nullptr;
    std::uint64_t key = 0;
    std::uint32_t round = 0;  // that brought its key first
    bool copy = false;
    std::uint8_t out = kNowhere;      // port
    std::uint8_t refused = kNowhere;  // the last port that did not take it

    [[nodiscard]] bool gone() const { return out == kNowhere; }
};

// Sums that a packet lost, doubled or exchanged would change.
struct Account {
    std::uint64_t packets = 0;
    std::uint64_t numbers = 0;  // modulo 2^64
    std::uint64_t squares = 0;  // the same

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
    static constexpr unsigned kMaxPackets = 512;  // of a round
    static constexpr unsigned kPorts = 4;         // a, b: from here; tool, spare: to here
    static constexpr unsigned kTool = 2;
    static constexpr unsigned kSpare = 3;

    // Frames lie in all buffers from now on.
    Peer(const Ground& ground, unsigned tx_queues);
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;
    ~Peer() = default;

    [[nodiscard]] std::vector<PortId> ports() const;
    [[nodiscard]] rte_mempool* pool() const { return pool_; }
    [[nodiscard]] unsigned buffers() const { return buffers_; }

    // Refusals take time on this clock; for one appliance, whose flows begin.
    void begin(Nanoseconds& clock, std::uint64_t seed);
    // Of so many transmits, one takes only some of its packets, or none; 0: all take all.
    void refuse_one_in(unsigned n) { refuse_one_in_ = n; }

    // What the next round hands in: to fill in but for mbuf, before offer().
    std::span<Handed> next_round(unsigned packets);
    // Half of the flows come by port b, where there are two.
    void offer(bool two_ports);
    // Of the round, packets that the appliance did not ask for yet.
    [[nodiscard]] unsigned waiting() const;
    [[nodiscard]] std::span<const Handed> round() const { return {round_.data(), packets_}; }
    // Throws what was wrong with packets that came out, which a worker cannot.
    void check() const;
    // The round is over: what did not come out was dropped, and its buffer is back.
    void settle();

    // Every buffer of the pool is there once, whole, with nothing but our frame.
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
    unsigned packets_ = 0;     // of the round
    std::uint64_t first_ = 1;  // number of its first
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
