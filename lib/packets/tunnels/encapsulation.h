// SPDX-License-Identifier: BSD-3-Clause
// The encapsulations that unecho can open, one row each. decapsulators.cpp reads their headers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace unecho::packet {

enum class Encapsulation : std::uint8_t {
    kVxlan,
    kVxlanGpe,
    kGeneve,
    kGre,
    kErspan,
    kGtpU,
    kIpInIp,
    kMpls,
    kMplsPw,
    kPbb,
    kL2tp,
    kTeredo,
    kTzsp,
    kJmirror,
    kEtherIp,
};

struct EncapsulationInfo {
    Encapsulation encapsulation;
    std::string_view name;
    std::string_view source;  // RFC, draft or standard
    std::string_view where;   // after which header
};

// Indexed by Encapsulation.
inline constexpr auto kEncapsulations = std::to_array<EncapsulationInfo>({
    {Encapsulation::kVxlan, "vxlan", "RFC 7348", "UDP to 4789, 8472, 48879 and vxlan_ports"},
    {Encapsulation::kVxlanGpe, "vxlan-gpe", "draft-ietf-nvo3-vxlan-gpe-13", "UDP to 4790"},
    {Encapsulation::kGeneve, "geneve", "RFC 8926", "UDP to 6081"},
    {Encapsulation::kGre, "gre", "RFC 2784, 2890, 2637 (version 1), 7637 (NVGRE), 8086 (in UDP)",
     "IP protocol 47, UDP to 4754"},
    {Encapsulation::kErspan, "erspan", "draft-foschiano-erspan-03, types I, II, III",
     "GRE protocols 0x88BE, 0x22EB"},
    {Encapsulation::kGtpU, "gtp-u", "3GPP TS 29.281, G-PDUs of version 1", "UDP to 2152"},
    {Encapsulation::kIpInIp, "ip-in-ip", "RFC 2003, 2473, 4213", "IP protocols 4 and 41"},
    {Encapsulation::kMpls, "mpls", "RFC 4023, 7510", "IP protocol 137, UDP to 6635"},
    {Encapsulation::kMplsPw, "mpls-pw", "RFC 4448, Ethernet pseudowires", "MPLS labels"},
    {Encapsulation::kPbb, "pbb", "IEEE 802.1ah", "EtherType 0x88E7"},
    {Encapsulation::kL2tp, "l2tp", "RFC 2661, 3931", "UDP port 1701, IP protocol 115"},
    {Encapsulation::kTeredo, "teredo", "RFC 4380", "UDP port 3544"},
    {Encapsulation::kTzsp, "tzsp", "TaZmen Sniffer Protocol, version 1", "UDP to 37008"},
    {Encapsulation::kJmirror, "jmirror", "packet mirroring of Juniper's JunosE", "UDP to 30030"},
    {Encapsulation::kEtherIp, "etherip", "RFC 3378", "IP protocol 97"},
});

static_assert(
    [] {
        for (std::size_t i = 0; i < kEncapsulations.size(); ++i) {
            if (kEncapsulations[i].encapsulation != static_cast<Encapsulation>(i)) {
                return false;
            }
        }
        return true;
    }(),
    "each encapsulation has its row, in their order");

inline constexpr auto kEncapsulationNames = [] {
    std::array<std::string_view, kEncapsulations.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) {
        names[i] = kEncapsulations[i].name;
    }
    return names;
}();

class EncapsulationSet {
  public:
    constexpr EncapsulationSet() = default;

    [[nodiscard]] static constexpr EncapsulationSet all() noexcept {
        EncapsulationSet set;
        set.bits_ = (1U << kEncapsulations.size()) - 1;
        return set;
    }

    constexpr void add(Encapsulation one) noexcept { bits_ |= 1U << static_cast<unsigned>(one); }
    constexpr void add(EncapsulationSet others) noexcept { bits_ |= others.bits_; }
    [[nodiscard]] constexpr bool has(Encapsulation one) const noexcept {
        return (bits_ >> static_cast<unsigned>(one) & 1) != 0;
    }
    [[nodiscard]] constexpr bool any() const noexcept { return bits_ != 0; }

    bool operator==(const EncapsulationSet&) const = default;

  private:
    std::uint32_t bits_ = 0;
};

}  // namespace unecho::packet
