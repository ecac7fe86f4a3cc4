// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/looks/hosts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace unecho::compare {

namespace {

// Return true for addresses of groups, and for none: these are no hosts.
bool is_group(const Address& address) {
    switch (address.family) {
        case Address::Family::kMac:
            return (address.bytes[0] & 1U) != 0;
        case Address::Family::kIpv4:
            return address.bytes[0] >= 0xE0 || address.bytes == decltype(address.bytes){};
        case Address::Family::kIpv6:
            return address.bytes[0] == 0xFF || address.bytes == decltype(address.bytes){};
        case Address::Family::kNone:
            break;
    }
    return true;
}

}  // namespace

Hosts::Hosts(std::span<const Flow> flows) {
    std::map<Address, std::uint32_t> numbers;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> pairs;
    ends_.reserve(flows.size());
    for (const Flow& flow : flows) {
        Ends ends;
        ends.source = numbers.try_emplace(flow.source, numbers.size()).first->second;
        ends.destination = numbers.try_emplace(flow.destination, numbers.size()).first->second;
        ends.turned = ends.source > ends.destination;
        const auto both = std::minmax(ends.source, ends.destination);
        ends.pair = pairs.try_emplace({both.first, both.second}, pairs.size()).first->second;
        if (is_group(flow.source)) {
            ends.source = kNone;
        }
        if (is_group(flow.destination)) {
            ends.destination = kNone;
        }
        ends_.push_back(ends);
    }
    hosts_ = static_cast<std::uint32_t>(numbers.size());
    pairs_ = static_cast<std::uint32_t>(pairs.size());
}

}  // namespace unecho::compare
