// SPDX-License-Identifier: BSD-3-Clause
#include "offline/non_ip.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "packet/non_ip.h"

namespace unecho::offline {
namespace {

using packet::Link;
using packet::NonIpNumber;

std::string hexadecimal(std::uint16_t number) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "0x%04x", number);
    return text.data();
}

// How its number is written.
std::string number_text(const packet::NonIpType& type) {
    switch (type.what) {
        case NonIpNumber::kEtherType:
            return type == packet::k8023 ? "802.3" : hexadecimal(type.number);
        case NonIpNumber::kFamily:
            return "family " + std::to_string(type.number);
        case NonIpNumber::kPpp:
            return "PPP " + hexadecimal(type.number);
        case NonIpNumber::kWifiType:
            return "802.11";
        case NonIpNumber::kHdlcEtherType:
            return "HDLC " + hexadecimal(type.number);
        case NonIpNumber::kNone:
            break;
    }
    const auto link = static_cast<Link>(type.number);
    return link == Link::kUnknown ? "no parser" : std::string(packet::name_of(link));
}

}  // namespace

void NonIpTypes::add(Link link, const packet::Frame& frame) {
    ++counts_[packet::type_of(packet::non_ip_frame(link, frame.data, frame.length))];
}

std::vector<NonIpType> NonIpTypes::most_first() const {
    std::vector<NonIpType> out;
    for (const auto& [type, packets] : counts_) {
        const std::string number = number_text(type);
        const std::string name(packet::name_of(type));
        out.push_back({number, name == number ? "" : name, packets});
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const NonIpType& a, const NonIpType& b) { return a.packets > b.packets; });
    return out;
}

}  // namespace unecho::offline
