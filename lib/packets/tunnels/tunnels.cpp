// SPDX-License-Identifier: BSD-3-Clause
#include "packets/tunnels/tunnels.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "base/assert.h"
#include "packets/headers.h"
#include "packets/tunnels/decapsulators.h"

namespace unecho::packet {
namespace {

// Headers behind which another protocol may follow.
constexpr std::array<std::uint8_t, 8> kLeadOn{kProtoHopByHop, kProtoRouting,     kProtoFragment,
                                              kProtoAh,       kProtoDestination, kProtoMobility,
                                              kProtoHip,      kProtoShim6};

}  // namespace

Tunnels::Tunnels(EncapsulationSet listed, std::span<const std::uint16_t> vxlan_ports)
    : listed_(listed),
      below_link_(listed.has(Encapsulation::kPbb) || listed.has(Encapsulation::kMplsPw)) {
    UNECHO_ASSERT(vxlan_ports.size() <= kMaxVxlanPorts);
    std::array<PortWay, PrefilterFields::kMost> ports;
    std::size_t count = 0;
    std::uint8_t i = 0;
    for (const Decapsulator& way : decapsulators()) {
        const std::uint8_t row = i++;
        if (!listed.has(way.encapsulation)) {
            continue;
        }
        if (way.carrier == Carrier::kUdp) {
            ports[count++] = {way.number, row, way.either_side};
        } else {
            by_protocol_[way.number] = row;
        }
    }
    for (const std::uint16_t port : vxlan_ports) {
        if (listed.has(Encapsulation::kVxlan)) {
            ports[count++] = {port, kVxlanDecapsulator, false};
        }
    }
    for (const PortWay& port : std::span(ports).first(count)) {
        // In the byte order of a packet.
        const std::uint16_t bytes = __builtin_bswap16(port.port);
        if (port.either_side) {
            signs_.either[signs_.either_count++] = bytes;
        } else {
            signs_.destinations[signs_.destination_count++] = bytes;
        }
    }
    if (count != 0) {
        by_protocol_[kProtoUdp] = kByPort;
    }
    // These headers matter only if something is listed that IP carries.
    if (std::any_of(by_protocol_.begin(), by_protocol_.end(),
                    [](std::uint8_t way) { return way != kNothing; })) {
        for (const std::uint8_t protocol : kLeadOn) {
            by_protocol_[protocol] = kExtension;
        }
    }
    for (unsigned protocol = 0; protocol < by_protocol_.size(); ++protocol) {
        const std::uint8_t way = by_protocol_[protocol];
        if (way != kNothing && way != kByPort) {
            UNECHO_ASSERT(signs_.protocol_count < PrefilterFields::kMost);
            signs_.protocols[signs_.protocol_count++] = static_cast<std::uint8_t>(protocol);
        }
    }
    // An odd factor permutes the numbers; one of the first few gives each port its own slot.
    while (!place({ports.data(), count}, factor_)) {
        factor_ = static_cast<std::uint16_t>(factor_ + 2);
    }
}

bool Tunnels::place(std::span<const PortWay> ports, std::uint16_t factor) {
    factor_ = factor;
    by_port_.fill({});
    for (const PortWay& port : ports) {
        PortWay& at = by_port_[static_cast<std::uint16_t>(port.port * factor) >> 10];
        if (at.way != kNothing && at.port != port.port) {
            return false;
        }
        at = port;
    }
    return true;
}

bool Tunnels::is_taken(std::uint16_t port) noexcept {
    const std::span<const Decapsulator> all = decapsulators();
    return std::any_of(all.begin(), all.end(), [&](const Decapsulator& way) {
        return way.carrier == Carrier::kUdp && way.number == port && port != kIvxlanPort;
    });
}

void count(const DecapsulatedBurst& opened, TunnelCounters& counters) noexcept {
    const auto packets = [](std::uint64_t mask) {
        return static_cast<std::uint64_t>(std::popcount(mask));
    };
    counters.opened += packets(opened.opened);
    counters.fragments += packets(opened.fragments);
    counters.malformed += packets(opened.malformed);
    counters.other += packets(opened.other);
    counters.too_deep += packets(opened.too_deep);
}

}  // namespace unecho::packet
