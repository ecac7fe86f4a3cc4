// SPDX-License-Identifier: BSD-3-Clause
// Packets for the pipeline benchmark. A counter makes each of them unique, except a wanted share of
// echoes: these repeat one of the last packets with another TTL and other MAC addresses.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <rte_mbuf.h>

namespace unecho::bench {

// Frame sizes as on the wire; in memory a frame lacks its check sequence of 4 bytes.
enum class Mix : std::uint8_t { k64, kImix, k1518 };

[[nodiscard]] const char* name_of(Mix mix);

// The tunnel around each packet; sizes are those of the frame without it.
enum class Tunnel : std::uint8_t { kNone, kVxlan, kGtpU };

// A source of numbers, each of which makes one packet. One for the process: no packet is sent
// twice.
struct PacketCounter {
    std::uint64_t next = 1;
};

// One part of all flows, as a card's queue has: part `number` of 2^bits.
struct FlowPart {
    unsigned bits = 0;
    unsigned number = 0;
};

class Traffic {
  public:
    // Echoes repeat one of the last kReach new packets, so at 50 % they are at most 2000 packets
    // old. A packet has at most one, as with a second tap. If none is left to repeat, a new packet
    // is sent.
    static constexpr unsigned kReach = 1000;
    static constexpr std::uint32_t kLongest = 1514;
    static constexpr std::uint32_t kTunnelHeaders = 50;  // of either tunnel, including Ethernet's

    Traffic(PacketCounter& counter, Mix mix, unsigned echo_percent, Tunnel tunnel,
            FlowPart flows = {}, bool without_id = false);

    // Forget the packets sent so far: echoes repeat later ones.
    void restart() { sent_ = 0; }

    // Turn mbufs of one segment with room for the longest frame into packets; return the echoes'
    // number.
    unsigned stamp(std::span<rte_mbuf* const> mbufs);

    // Write everything that stamp() does not change.
    static void fill(rte_mbuf& mbuf);

  private:
    static constexpr unsigned kHistory = 1024;
    static_assert(kReach <= kHistory);

    [[nodiscard]] std::uint64_t random();
    [[nodiscard]] std::uint64_t take_original();
    [[nodiscard]] std::uint32_t length_of(std::uint64_t identity) const;
    static void refill(std::uint8_t* payload, std::size_t bytes);
    void write(rte_mbuf& mbuf, std::uint64_t identity, bool echo) const;
    void write_tunnel(rte_mbuf& mbuf, std::uint32_t inner, bool echo) const;

    PacketCounter& counter_;
    Mix mix_;
    Tunnel tunnel_;
    FlowPart flows_;
    bool without_id_;           // packets have the IP ID 0
    std::uint64_t echo_below_;  // a random number below it makes an echo
    std::uint64_t state_ = 1;
    // New packets by their number mod kHistory; 0: its echo was sent.
    std::array<std::uint64_t, kHistory> history_{};
    std::uint64_t sent_ = 0;  // new packets since restart()
};

}  // namespace unecho::bench
