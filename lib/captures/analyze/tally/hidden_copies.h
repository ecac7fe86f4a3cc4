// SPDX-License-Identifier: BSD-3-Clause
// Packets that are there more than once though no key finds them equal: on both sides of a NAT, as
// TCP segments and merged into one, and in tunnels that are not opened because of their UDP port.
// The report says that they are there; nothing removes them. Packets that are cut within their TCP
// or UDP header are counted as well, as they equal no longer copy.
//
// The tables have a fixed size, so a packet is found again as long as about a thousand others did
// not come between. Behind the first 8,192 packets one run of 1,024 in 32 is looked at, which takes
// less than 1 % of the time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>

#include "base/units.h"
#include "captures/record.h"
#include "packets/parse.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::analyze {

// What UDP datagrams to an unusual port look like.
enum class UdpTunnel : std::uint8_t { kVxlan, kGeneve, kTzsp, kGtpU, kCapwap };

struct UdpTunnelInfo {
    UdpTunnel tunnel;
    std::string_view name;
    std::uint16_t usual_port;  // at which it is opened; 0: it is never opened
};

// Indexed by UdpTunnel.
inline constexpr auto kUdpTunnels = std::to_array<UdpTunnelInfo>({
    {UdpTunnel::kVxlan, "VXLAN", 4789},
    {UdpTunnel::kGeneve, "GENEVE", 6081},
    {UdpTunnel::kTzsp, "TZSP", 37008},
    {UdpTunnel::kGtpU, "GTP-U", 2152},
    {UdpTunnel::kCapwap, "CAPWAP", 0},
});

// What was counted, which merges.
struct HiddenCopyCounts {
    // Packets with an IP ID that were looked at, and those that are an earlier one with other
    // addresses or ports and another TTL; by how much it differs at least.
    std::uint64_t identified = 0;
    std::uint64_t translated = 0;
    std::uint8_t ttl_step = UINT8_MAX;
    // All packets that were looked at.
    std::uint64_t looked_at = 0;
    // TCP segments with data, those that hold the bytes of several others, and how long after the
    // first of these.
    std::uint64_t segments = 0;
    std::uint64_t merged = 0;
    Nanoseconds merged_within = 0;
    std::map<std::uint32_t, std::uint64_t> tunnels;  // UdpTunnel << 16 | UDP port
    std::uint64_t empty = 0;                         // frames of which no byte was captured
    std::uint64_t headless = 0;  // captured up to within their TCP or UDP header

    void add(const HiddenCopyCounts& more);
    [[nodiscard]] bool valid() const;

    template <typename Io>
    void state(Io& io) {
        io(looked_at, identified, translated, ttl_step, segments, merged, merged_within, tunnels,
           empty, headless);
    }
};

class HiddenCopyTally {
  public:
    // A burst as the innermost packets that were found. opened: the tunnels that are looked into.
    void add(std::span<const capture::Record> records, const packet::ParsedBurst& packets,
             const packet::Tunnels& opened);

    [[nodiscard]] const HiddenCopyCounts& counts() const noexcept { return counts_; }

  private:
    static constexpr std::size_t kPlaces = 1024;
    // In bursts: all of the first ones are looked at, then one run of so many in 32.
    static constexpr std::uint64_t kFirstBursts = 128;
    static constexpr std::uint64_t kRun = 16;
    static constexpr std::uint64_t kRuns = 32;
    static constexpr std::size_t kMaxTunnels = 16;

    // The first side of a NAT.
    struct Side {
        std::uint64_t mark = 0;  // of ID, protocol, length, sequence numbers, payload
        Nanoseconds time = 0;
        std::uint32_t ends = 0;  // of addresses and ports
        std::uint8_t ttl = 0;
    };
    // A segment, found by where in its stream it begins and by where it ends.
    struct Piece {
        std::uint64_t mark = 0;
        Nanoseconds time = 0;
        std::uint32_t length = 0;
        bool head_seen = false;  // a shorter one with the same beginning came later
    };
    // Of one packet, what stands behind its IP header.
    struct Transport {
        packet::IpPacket ip;
        std::uint32_t at;      // of the transport header
        std::uint32_t length;  // of the packet on the wire
        std::uint64_t ends;    // of addresses and ports
        Nanoseconds time;
    };

    void note_cut(const packet::IpPacket& ip, std::uint32_t at, std::uint32_t length,
                  std::uint8_t protocol);
    void add_ipv4(const packet::IpPacket& ip, Nanoseconds time, const packet::Tunnels& opened);
    void add_ipv6(const packet::IpPacket& ip, Nanoseconds time, const packet::Tunnels& opened);
    void add_identified(const Transport& packet);
    void add_segment(const Transport& packet);
    void add_datagram(const Transport& packet, const packet::Tunnels& opened);
    void note_merged(Nanoseconds first, Nanoseconds last);
    [[nodiscard]] Piece& place_of(std::uint64_t mark) noexcept {
        return pieces_[mark >> 54 & (kPlaces - 1)];
    }

    std::uint64_t bursts_ = 0;
    HiddenCopyCounts counts_;
    std::array<Side, kPlaces> sides_{};
    std::array<Piece, kPlaces> pieces_{};
};

}  // namespace unecho::analyze
