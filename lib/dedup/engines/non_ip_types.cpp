// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/non_ip_types.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/units.h"
#include "packets/keys/non_ip.h"

namespace unecho::engines {
namespace {

using packet::LinkType;
using packet::NonIpNumber;

std::string hexadecimal(std::uint16_t number) {
    return format_number("0x%04x", number);
}

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
    const auto link = static_cast<LinkType>(type.number);
    return link == LinkType::kUnknown ? "no parser" : std::string(packet::name_of(link));
}

}  // namespace

void NonIpTypeCounter::add(LinkType link, const packet::Frame& frame) {
    add(packet::type_of(packet::non_ip_frame(link, frame.data, frame.length)), 1);
}

void NonIpTypeCounter::add(const packet::NonIpType& type, std::uint64_t packets) {
    counts_[type] += packets;
}

std::string text_of(const std::vector<NonIpTypeCount>& types) {
    constexpr std::size_t kShown = 8;
    std::string text;
    std::uint64_t others = 0;
    for (std::size_t i = 0; i < types.size(); ++i) {
        const NonIpTypeCount& one = types[i];
        if (i >= kShown) {
            others += one.packets;
            continue;
        }
        text +=
            fmt::format("{}{} {}", i == 0 ? "" : ", ", format_count(one.packets),
                        one.name.empty() ? one.type : fmt::format("{} ({})", one.name, one.type));
    }
    if (others != 0) {
        text += fmt::format("; {} of {} other types", format_count(others), types.size() - kShown);
    }
    return text;
}

std::vector<NonIpTypeCount> NonIpTypeCounter::most_first() const {
    std::vector<NonIpTypeCount> out;
    for (const auto& [type, packets] : counts_) {
        const std::string number = number_text(type);
        const std::string name(packet::name_of(type));
        out.push_back({number, name == number ? "" : name, packets});
    }
    std::stable_sort(out.begin(), out.end(), [](const NonIpTypeCount& a, const NonIpTypeCount& b) {
        return a.packets > b.packets;
    });
    return out;
}

}  // namespace unecho::engines
