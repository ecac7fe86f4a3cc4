// SPDX-License-Identifier: BSD-3-Clause
// Tunnels: the way from the outermost IP packet to the innermost one behind the listed
// encapsulations. So copies match, whichever tunnels they came through. Optional part of parsing.
//
// A fragment is never opened, even if a whole packet is inside: all fragments keep the outer key.
// The walk ends at the last complete IP packet before something truncated, malformed or unknown.
//
// Hot code: reads only inside the bounds of the enclosing packet, at most 8 encapsulations deep.
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

// The kind of a tenant's number.
enum class TenantSpace : std::uint8_t {
    kNone,
    kVirtualNetwork,  // VNI of VXLAN, VXLAN-GPE, GENEVE: gateways between them keep it
    kService,         // I-SID of PBB
    kGreKey,          // including NVGRE's VSID and FlowID, which all packets of a flow share
    kGtpEndpoint,     // TEID
    kL2tpSession,
    kPptpCall,
};

// The network whose addresses a packet uses, in one word so that it is copied as one.
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
    // Return space and number in one word; 0 if there is none.
    [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
    [[nodiscard]] static constexpr TenantId of_bits(std::uint64_t bits) noexcept {
        return {static_cast<TenantSpace>(bits >> 32), static_cast<std::uint32_t>(bits)};
    }

    // Return true if the number is for one direction: the other end chose its own for the way back.
    [[nodiscard]] constexpr bool one_way() const noexcept {
        return space() == TenantSpace::kGtpEndpoint || space() == TenantSpace::kL2tpSession ||
               space() == TenantSpace::kPptpCall;
    }

  private:
    std::uint64_t bits_;  // uninitialised without {}: bursts hold many, few are used
};

// The encapsulations to open, and where they occur. Made once, then read by workers.
class Tunnels {
  public:
    static constexpr unsigned kMaxVxlanPorts = 8;
    static constexpr unsigned kMaxDecapsulators = 24;  // rows of kDecapsulators

    Tunnels() = default;
    // vxlan_ports: at most kMaxVxlanPorts in addition to those of the table, none of another
    // encapsulation (is_taken()).
    explicit Tunnels(EncapsulationSet listed, std::span<const std::uint16_t> vxlan_ports = {});

    // Return true for UDP ports that belong to an encapsulation, listed or not. iVXLAN's port is
    // excepted, because older configurations list it in vxlan_ports.
    [[nodiscard]] static bool is_taken(std::uint16_t port) noexcept;

    [[nodiscard]] bool any() const noexcept { return listed_.any(); }
    [[nodiscard]] EncapsulationSet listed() const noexcept { return listed_; }
    [[nodiscard]] bool below_link() const noexcept { return below_link_; }

    // Codes for an IP protocol or UDP port: a row of kDecapsulators, or one of these.
    static constexpr std::uint8_t kNothing = 0xFF;
    static constexpr std::uint8_t kByPort = 0xFE;     // UDP
    static constexpr std::uint8_t kExtension = 0xFD;  // IPv6 extension header or AH: continue
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

    // Header fields, one of which a packet must have for an encapsulation to follow.
    struct PrefilterFields {
        static constexpr unsigned kMost = kMaxDecapsulators + kMaxVxlanPorts;
        std::array<std::uint8_t, kMost> protocols{};  // except UDP
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
    static constexpr unsigned kSlots = 64;  // twice the ports, so that a factor is soon found

    [[nodiscard]] const PortWay& slot(std::uint16_t port) const noexcept {
        return by_port_[static_cast<std::uint16_t>(port * factor_) >> 10];
    }
    bool place(std::span<const PortWay> ports, std::uint16_t factor);

    EncapsulationSet listed_;
    bool below_link_ = false;   // one is listed that takes the place of an IP packet
    std::uint16_t factor_ = 1;  // gives each port its own slot
    std::array<PortWay, kSlots> by_port_{};
    std::array<std::uint8_t, 256> by_protocol_ = filled();
    PrefilterFields signs_;

    static constexpr std::array<std::uint8_t, 256> filled() {
        std::array<std::uint8_t, 256> out{};
        out.fill(kNothing);
        return out;
    }
};

// Result for a burst: the opened packets, and disjoint masks of why a walk ended before the end.
// All are 0 without tunnels.
struct DecapsulatedBurst {
    std::uint64_t opened = 0;  // its packet is one from inside a tunnel
    std::uint64_t fragments = 0;
    std::uint64_t malformed = 0;
    std::uint64_t other = 0;
    std::uint64_t too_deep = 0;
    std::array<TenantId, kMaxBurst> tenants;  // of opened packets

    [[nodiscard]] bool any() const noexcept {
        return (opened | fragments | malformed | other | too_deep) != 0;
    }
    void clear() noexcept { opened = fragments = malformed = other = too_deep = 0; }
};

// Counts for one filter. Apart from `opened`, a packet is counted in at most one of them.
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

// One opened encapsulation and the packet that it led to, if any: a step of the way.
struct DecapsulatedLevel {
    Encapsulation encapsulation = Encapsulation::kVxlan;
    TenantId tenant{};
    Frame payload{};        // an Ethernet frame, or bytes that begin with labels, PPP or IP
    bool ethernet = false;  // the payload is an Ethernet frame
    Parsed packet{L3Type::kNonIp, {}};
};
struct DecapsulatedLevels {
    std::array<DecapsulatedLevel, kMaxLevels> levels;
    unsigned count = 0;  // levels up to the last one that led to a packet
};

// Return the way of a packet that decapsulate_burst() opened. outermost: from parse_burst().
[[nodiscard]] DecapsulatedLevels decapsulated_levels(const Tunnels& tunnels, LinkType link,
                                                     const Frame& frame,
                                                     const Parsed& outermost) noexcept;

// Like parse_burst(), but find the innermost packets.
void parse_innermost(const Tunnels& tunnels, LinkType link, std::span<const Frame> frames,
                     ParsedBurst& parsed, DecapsulatedBurst& opened) noexcept;

// Do the same after parse_burst() of these frames.
void decapsulate_burst(const Tunnels& tunnels, LinkType link, std::span<const Frame> frames,
                       ParsedBurst& parsed, DecapsulatedBurst& opened) noexcept;

}  // namespace unecho::packet
