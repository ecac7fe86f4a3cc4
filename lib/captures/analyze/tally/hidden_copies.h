// SPDX-License-Identifier: BSD-3-Clause
// Packets that were captured more than once although no key finds them equal: on both sides of a
// NAT, as TCP segments and merged into one, and in tunnels that are not opened because of their UDP
// port. The report says so; nothing removes them. Packets that are cut within their TCP or UDP
// header are counted too, because they do not equal a longer copy.
//
// The tables have a fixed size: they find a packet again if fewer than about a thousand others came
// in between. After the first 8,192 packets, one run of 1,024 in 32 is examined, which costs less
// than 1 % of the time.
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

// Tunnels that are recognised by their content, on UDP ports that are not opened.
enum class UdpTunnel : std::uint8_t { kVxlan, kGeneve, kTzsp, kGtpU, kCapwap };

struct UdpTunnelInfo {
    UdpTunnel tunnel;
    std::string_view name;
    std::uint16_t usual_port;  // where unecho opens it; 0: nowhere
};

// Indexed by UdpTunnel.
inline constexpr auto kUdpTunnels = std::to_array<UdpTunnelInfo>({
    {UdpTunnel::kVxlan, "VXLAN", 4789},
    {UdpTunnel::kGeneve, "GENEVE", 6081},
    {UdpTunnel::kTzsp, "TZSP", 37008},
    {UdpTunnel::kGtpU, "GTP-U", 2152},
    {UdpTunnel::kCapwap, "CAPWAP", 0},
});

struct HiddenCopyCounts {
    // IPv4 packets with an IP ID that were examined, and those that equal an earlier one except for
    // addresses or ports and TTL. The smallest difference of these TTLs.
    std::uint64_t identified = 0;
    std::uint64_t translated = 0;
    std::uint8_t ttl_step = UINT8_MAX;
    std::uint64_t looked_at = 0;
    // TCP segments with data, those that contain the bytes of several others, and the longest time
    // since the first of these others.
    std::uint64_t segments = 0;
    std::uint64_t merged = 0;
    Nanoseconds merged_within = 0;
    std::map<std::uint32_t, std::uint64_t> tunnels;  // UdpTunnel << 16 | UDP port
    std::uint64_t empty = 0;                         // frames without a captured byte
    std::uint64_t headless = 0;                      // cut within their TCP or UDP header

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
    // Examine a burst of innermost packets. opened: the tunnels that are opened.
    void add(std::span<const capture::Record> records, const packet::ParsedBurst& packets,
             const packet::Tunnels& opened);

    [[nodiscard]] const HiddenCopyCounts& counts() const noexcept { return counts_; }

  private:
    static constexpr std::size_t kPlaces = 1024;
    // In bursts: the first ones are all examined, then one run of kRun in kRuns.
    static constexpr std::uint64_t kFirstBursts = 128;
    static constexpr std::uint64_t kRun = 16;
    static constexpr std::uint64_t kRuns = 32;
    static constexpr std::size_t kMaxTunnels = 16;

    // The first sighting of a packet that may cross a NAT.
    struct Side {
        std::uint64_t mark = 0;  // hash of ID, protocol, length, sequence numbers, payload
        Nanoseconds time = 0;
        std::uint32_t ends = 0;  // hash of addresses and ports
        std::uint8_t ttl = 0;
    };
    // A TCP segment, found by where in its stream it begins, and by where it ends.
    struct Piece {
        std::uint64_t mark = 0;
        Nanoseconds time = 0;
        std::uint32_t length = 0;
        bool head_seen = false;  // a shorter one with the same beginning came later
    };
    // A packet, with what follows its IP header.
    struct Transport {
        packet::IpPacket ip;
        std::uint32_t at;      // offset of the transport header
        std::uint32_t length;  // of the packet on the wire
        std::uint64_t ends;    // hash of addresses and ports
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
