// SPDX-License-Identifier: BSD-3-Clause
#include "offline/non_ip.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "packet/non_ip.h"

namespace unecho::offline {
namespace {

using packet::Link;
using packet::NonIpNumber;

struct Name {
    std::uint16_t number;
    std::string_view name;
};

// EtherTypes that are met in captures; IEEE's registry, and Linux's numbers below 1536.
constexpr std::array kEtherTypes = std::to_array<Name>({
    {0x0001, "802.3"},         {0x0004, "802.2"},
    {0x0806, "ARP"},           {0x0842, "Wake-on-LAN"},
    {0x22F0, "AVTP"},          {0x22F3, "TRILL"},
    {0x4305, "B.A.T.M.A.N."},  {0x6002, "DEC MOP"},
    {0x6003, "DECnet"},        {0x8035, "RARP"},
    {0x809B, "AppleTalk"},     {0x80F3, "AARP"},
    {0x8137, "IPX"},           {0x8808, "MAC control"},
    {0x8809, "LACP"},          {0x8847, "MPLS payload"},
    {0x8848, "MPLS payload"},  {0x8863, "PPPoE discovery"},
    {0x8864, "PPPoE session"}, {0x887B, "HomePlug"},
    {0x888E, "EAPOL"},         {0x8892, "PROFINET"},
    {0x8899, "Realtek"},       {0x88A2, "AoE"},
    {0x88A4, "EtherCAT"},      {0x88AB, "POWERLINK"},
    {0x88B8, "GOOSE"},         {0x88BA, "Sampled Values"},
    {0x88BF, "MikroTik"},      {0x88CC, "LLDP"},
    {0x88CD, "SERCOS"},        {0x88E1, "HomePlug AV"},
    {0x88E3, "MRP"},           {0x88E5, "MACsec"},
    {0x88E7, "PBB"},           {0x88F7, "PTP"},
    {0x88FB, "PRP"},           {0x8902, "CFM"},
    {0x8906, "FCoE"},          {0x8914, "FIP"},
    {0x892F, "HSR"},           {0x893A, "IEEE 1905"},
    {0x894F, "NSH"},           {0x9000, "loopback test"},
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

template <std::size_t kCount>
std::string name_in(const std::array<Name, kCount>& names, std::uint16_t number) {
    const auto* const found =
        std::find_if(names.begin(), names.end(), [&](const Name& n) { return n.number == number; });
    return found == names.end() ? "" : std::string(found->name);
}

std::string hexadecimal(std::uint16_t number) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "0x%04x", number);
    return text.data();
}

constexpr std::array kFramesOf80211 = std::to_array<Name>({
    {0, "management"},
    {1, "control"},
    {2, "data"},
    {3, "extension"},
});

// A frame without a number is of its link type, whose packets are all alike.
NonIpType described(NonIpNumber what, std::uint16_t number) {
    switch (what) {
        case NonIpNumber::kEtherType:
            return {number == 0 ? "802.3" : hexadecimal(number), name_in(kEtherTypes, number)};
        case NonIpNumber::kFamily:
            return {"family " + std::to_string(number), ""};
        case NonIpNumber::kPpp:
            return {"PPP " + hexadecimal(number), name_in(kPppProtocols, number)};
        case NonIpNumber::kWifiType:
            return {"802.11", name_in(kFramesOf80211, number)};
        case NonIpNumber::kHdlcEtherType:
            return {"HDLC " + hexadecimal(number), name_in(kEtherTypes, number)};
        case NonIpNumber::kNone:
            break;
    }
    const auto link = static_cast<Link>(number);
    return {link == Link::kUnknown ? "no parser" : std::string(packet::name_of(link)), ""};
}

}  // namespace

void NonIpTypes::add(Link link, const packet::Frame& frame) {
    const packet::NonIpFrame other = packet::non_ip_frame(link, frame.data, frame.length);
    const NonIpNumber what = packet::info_of(other.kind).non_ip_number;
    const bool is_8023 = other.kind == Link::kEthernet && packet::is_length(other.type);
    const auto number = what == NonIpNumber::kNone ? static_cast<std::uint16_t>(other.kind)
                        : is_8023                  ? std::uint16_t{0}
                                                   : other.type;
    ++counts_[{what, number}];
}

std::vector<NonIpType> NonIpTypes::most_first() const {
    std::vector<NonIpType> out;
    for (const auto& [what, packets] : counts_) {
        out.push_back(described(what.first, what.second));
        out.back().packets = packets;
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const NonIpType& a, const NonIpType& b) { return a.packets > b.packets; });
    return out;
}

}  // namespace unecho::offline
