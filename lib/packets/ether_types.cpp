// SPDX-License-Identifier: BSD-3-Clause
#include "packets/ether_types.h"

#include <array>
#include <span>

namespace unecho::packet {
namespace {

struct Name {
    std::uint16_t number;
    std::string_view name;
};

constexpr std::uint16_t kLinux8023 = 1;  // 802.3 of any length, in cooked captures

// EtherTypes that occur in captures, from IEEE's registry; below 1536 Linux's own numbers.
constexpr std::array kEtherTypes = std::to_array<Name>({
    {0x0004, "802.2"},
    {0x0806, "ARP"},
    {0x0842, "Wake-on-LAN"},
    {0x22F0, "AVTP"},
    {0x22F3, "TRILL"},
    {0x4305, "B.A.T.M.A.N."},
    {0x6002, "DEC MOP"},
    {0x6003, "DECnet"},
    {0x8035, "RARP"},
    {0x809B, "AppleTalk"},
    {0x80F3, "AARP"},
    {0x8137, "IPX"},
    {0x8808, "MAC control"},
    {0x8809, "slow protocols (LACP)"},
    {0x8847, "MPLS payload"},
    {0x8848, "MPLS payload"},
    {0x8863, "PPPoE discovery"},
    {0x8864, "PPPoE session"},
    {0x887B, "HomePlug"},
    {0x888E, "EAPOL"},
    {0x8892, "PROFINET"},
    {0x8899, "Realtek"},
    {0x88A2, "AoE"},
    {0x88A4, "EtherCAT"},
    {0x88AB, "POWERLINK"},
    {0x88B8, "GOOSE"},
    {0x88B9, "GSE management"},
    {0x88BA, "Sampled Values"},
    {0x88BF, "MikroTik"},
    {0x88CC, "LLDP"},
    {0x88CD, "SERCOS"},
    {0x88E1, "HomePlug AV"},
    {0x88E3, "MRP"},
    {0x88E5, "MACsec"},
    {0x88E7, "PBB"},
    {0x88F7, "PTP"},
    {0x88FB, "PRP"},
    {0x8902, "CFM"},
    {0x8906, "FCoE"},
    {0x8914, "FIP"},
    {0x892F, "HSR"},
    {0x893A, "IEEE 1905"},
    {0x894F, "NSH"},
    {0x9000, "loopback test"},
});

constexpr std::array kPppProtocols = std::to_array<Name>({
    {0x8021, "IPCP"},
    {0x8057, "IPV6CP"},
    {0x80FD, "CCP"},
    {0xC021, "LCP"},
    {0xC023, "PAP"},
    {0xC025, "LQR"},
    {0xC223, "CHAP"},
});

constexpr std::array kFramesOf80211 = std::to_array<Name>({
    {0, "management"},
    {1, "control"},
    {2, "data"},
    {3, "extension"},
});

std::span<const Name> names_of(NonIpNumber what) noexcept {
    switch (what) {
        case NonIpNumber::kEtherType:
        case NonIpNumber::kHdlcEtherType:
            return kEtherTypes;
        case NonIpNumber::kPpp:
            return kPppProtocols;
        case NonIpNumber::kWifiType:
            return kFramesOf80211;
        case NonIpNumber::kFamily:
        case NonIpNumber::kNone:
            break;
    }
    return {};
}

}  // namespace

NonIpType type_of(const NonIpFrame& frame) noexcept {
    const NonIpNumber what = info_of(frame.kind).non_ip_number;
    if (what == NonIpNumber::kNone) {
        return {what, static_cast<std::uint16_t>(frame.kind)};
    }
    const bool is_8023 = (frame.kind == LinkType::kEthernet && is_length(frame.type)) ||
                         (frame.kind == LinkType::kSll && frame.type == kLinux8023);
    return is_8023 ? k8023 : NonIpType{what, frame.type};
}

std::string_view name_of(const NonIpType& type) noexcept {
    if (type == k8023) {
        return "802.3";
    }
    for (const Name& one : names_of(type.what)) {
        if (one.number == type.number) {
            return one.name;
        }
    }
    return {};
}

}  // namespace unecho::packet
