// SPDX-License-Identifier: BSD-3-Clause
// From the outermost IP packet to the innermost one that listed encapsulations lead to, so that
// copies of it match whatever tunnels they came through. The part of stage parse that is asked for.
//
// A fragment is never opened, nor the whole packets behind it: all of them keep the outer key. What
// is cut short, malformed or unknown inside a tunnel ends the walk at the last whole IP packet.
//
// Hot code: reads only inside the bounds of the packet that it is in; 8 encapsulations at most.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/counters.h"
#include "base/ids.h"
#include "packets/frame.h"
#include "packets/parse.h"
#include "packets/tunnels/encapsulation.h"

namespace unecho::packet {

inline constexpr unsigned kMaxLevels = 8;

// Who shares addresses with whom: a number, and what it is a number of.
enum class TenantSpace : std::uint8_t {
    kNone,
    kVirtualNetwork,  // VNI of VXLAN, VXLAN-GPE, GENEVE: a gateway between them keeps it
    kService,         // I-SID of PBB
    kGreKey,          // the VSID of NVGRE and its FlowID, too, which all packets of a flow share
    kGtpEndpoint,     // TEID
    kL2tpSession,
    kPptpCall,
};

// In one word, so that it is copied as one.
class TenantId {
  public:
    TenantId() = default;
    constexpr TenantId(TenantSpace space, std::uint32_t number) noexcept
        : bits_(number | static_cast<std::uint64_t>(space) << 32) {}

    [[nodiscard]] constexpr bool any() const noexcept { return bits_ != 0; }
    [[nodiscard]] constexpr TenantSpace space() const noexcept {
        return static_cast<TenantSpace>(bits_ >> 32);
    }
    [[nodiscard]] constexpr std::uint32_t number() const noexcept {
        return static_cast<std::uint32_t>(bits_);
    }
    // Both; 0 of none.
    [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
    [[nodiscard]] static constexpr TenantId of_bits(std::uint64_t bits) noexcept {
        return {static_cast<TenantSpace>(bits >> 32), static_cast<std::uint32_t>(bits)};
    }

    // Of one direction only: the other end chose another one for the way back.
    [[nodiscard]] constexpr bool one_way() const noexcept {
        return space() == TenantSpace::kGtpEndpoint || space() == TenantSpace::kL2tpSession ||
               space() == TenantSpace::kPptpCall;
    }

  private:
    std::uint64_t bits_;  // made without {} it is anything: bursts hold many, and few are asked for
};

// Which encapsulations to look into, and where they are met. Regular; made once, read by workers.
class Tunnels {
  public:
    static constexpr unsigned kMaxVxlanPorts = 8;

    Tunnels() = default;
    // vxlan_ports: beside those of the table, at most kMaxVxlanPorts, none of another
    // encapsulation (is_taken).
    explicit Tunnels(EncapsulationSet listed, std::span<const std::uint16_t> vxlan_ports = {});

    // UDP ports that belong to an encapsulation whether listed or not; but for that of iVXLAN,
    // which had to be listed once.
    [[nodiscard]] static bool is_taken(std::uint16_t port) noexcept;

    [[nodiscard]] bool any() const noexcept { return listed_.any(); }
    [[nodiscard]] EncapsulationSet listed() const noexcept { return listed_; }
    [[nodiscard]] bool below_link() const noexcept { return below_link_; }

    // Of an IP protocol, and of a port of UDP: a row of kDecapsulators or a note.
    static constexpr std::uint8_t kNothing = 0xFF;
    static constexpr std::uint8_t kByPort = 0xFE;     // UDP
    static constexpr std::uint8_t kExtension = 0xFD;  // a header of IPv6 or AH that leads on
    [[nodiscard]] std::uint8_t decapsulator_for_protocol(std::uint8_t protocol) const noexcept {
        return by_protocol_[protocol];
    }
    [[nodiscard]] std::uint8_t decapsulator_for_ports(std::uint16_t source,
                                                      std::uint16_t destination) const noexcept {
        const PortWay& to = slot(destination);
        if (to.way != kNothing && to.port == destination) {
            return to.way;
        }
        const PortWay& from = slot(source);
        return from.way != kNothing && from.port == source && from.either_side ? from.way
                                                                               : kNothing;
    }

    // What a packet has to have in its place, one of them, for a way to begin there.
    struct PrefilterFields {
        static constexpr unsigned kMost = 32;
        std::array<std::uint8_t, kMost> protocols{};  // but UDP
        std::array<std::uint16_t, kMost> destinations{};
        std::array<std::uint16_t, kMost> either{};  // source or destination
        unsigned protocol_count = 0;
        unsigned destination_count = 0;
        unsigned either_count = 0;
    };
    [[nodiscard]] const PrefilterFields& prefilter_fields() const noexcept { return signs_; }

  private:
    struct PortWay {
        std::uint16_t port = 0;
        std::uint8_t way = kNothing;
        bool either_side = false;
    };
    static constexpr unsigned kSlots = 64;  // for at most 19 ports, so that a factor is soon found

    [[nodiscard]] const PortWay& slot(std::uint16_t port) const noexcept {
        return by_port_[static_cast<std::uint16_t>(port * factor_) >> 10];
    }
    bool place(std::span<const PortWay> ports, std::uint16_t factor);

    EncapsulationSet listed_;
    bool below_link_ = false;   // one is listed that stands where an IP packet would
    std::uint16_t factor_ = 1;  // so that each port has a slot of its own
    std::array<PortWay, kSlots> by_port_{};
    std::array<std::uint8_t, 256> by_protocol_ = filled();
    PrefilterFields signs_;

    static constexpr std::array<std::uint8_t, 256> filled() {
        std::array<std::uint8_t, 256> out{};
        out.fill(kNothing);
        return out;
    }
};

// Of a burst: packets that were opened, and, in disjoint masks, why the walk ended before the end.
// Without tunnels all are 0.
struct DecapsulatedBurst {
    std::uint64_t opened = 0;  // the packet is one from inside a tunnel
    std::uint64_t fragments = 0;
    std::uint64_t malformed = 0;
    std::uint64_t other = 0;
    std::uint64_t too_deep = 0;
    std::array<TenantId, kMaxBurst> tenants;  // where opened

    [[nodiscard]] bool any() const noexcept {
        return (opened | fragments | malformed | other | too_deep) != 0;
    }
    void clear() noexcept { opened = fragments = malformed = other = too_deep = 0; }
};

// What a filter counts of it. Beside those opened, each packet is in one of the others at most.
struct TunnelCounters {
    std::uint64_t opened = 0;
    std::uint64_t fragments = 0;
    std::uint64_t malformed = 0;
    std::uint64_t other = 0;
    std::uint64_t too_deep = 0;
};
inline constexpr CounterRows<TunnelCounters, 5> kTunnelCounters{{
    {&TunnelCounters::opened, "tunnelled", CounterUnit::kPackets, CounterMerge::kSum,
     "packets whose key is that of a packet inside a tunnel"},
    {&TunnelCounters::fragments, "tunnel_fragments", CounterUnit::kPackets, CounterMerge::kSum,
     "fragments of a packet with a tunnel in it: not opened"},
    {&TunnelCounters::malformed, "tunnel_malformed", CounterUnit::kPackets, CounterMerge::kSum,
     "something inside a tunnel is cut short or inconsistent: the key is that of the packet "
     "before"},
    {&TunnelCounters::other, "tunnel_other", CounterUnit::kPackets, CounterMerge::kSum,
     "a tunnel holds no IP packet (ARP, control messages): the key is that of the packet before"},
    {&TunnelCounters::too_deep, "tunnel_too_deep", CounterUnit::kPackets, CounterMerge::kSum,
     "more than 8 tunnels in one another: the key is that of the packet inside the eighth"},
}};
static_assert(describes_every_counter(kTunnelCounters));

void count(const DecapsulatedBurst& opened, TunnelCounters& counters) noexcept;

// One encapsulation that was opened, and the packet that it led to if it did; for who wants to know
// more of the way than where it ends.
struct DecapsulatedLevel {
    Encapsulation encapsulation = Encapsulation::kVxlan;
    TenantId tenant{};
    Frame payload{};  // as it was found: an Ethernet frame, or what begins with labels, PPP, IP
    bool ethernet = false;  // that the payload is
    Parsed packet{L3Type::kNonIp, {}};
};
struct DecapsulatedLevels {
    std::array<DecapsulatedLevel, kMaxLevels> levels;
    unsigned count = 0;  // up to the last that led to a packet
};

// The way of a packet that decapsulate_burst() opened. outermost: as parse_burst() found it.
[[nodiscard]] DecapsulatedLevels decapsulated_levels(const Tunnels& tunnels, LinkType link,
                                                     const Frame& frame,
                                                     const Parsed& outermost) noexcept;

// As parse_burst(), but parsed names the innermost packets.
void parse_innermost(const Tunnels& tunnels, LinkType link, std::span<const Frame> frames,
                     ParsedBurst& parsed, DecapsulatedBurst& opened) noexcept;

// The same behind parse_burst() of these frames.
void decapsulate_burst(const Tunnels& tunnels, LinkType link, std::span<const Frame> frames,
                       ParsedBurst& parsed, DecapsulatedBurst& opened) noexcept;

}  // namespace unecho::packet
