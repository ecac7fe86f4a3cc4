// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/tunnel_tally.h"

#include <algorithm>
#include <string>

#include "hash/digest.h"
#include "packet/headers.h"

namespace unecho::analyze {
namespace {

constexpr std::size_t kMostShown = 20;

constexpr std::array<std::string_view, 7> kSpaceNames{"",     "VNI",          "I-SID",    "GRE key",
                                                      "TEID", "L2TP session", "PPTP call"};

// The outermost first.
std::vector<std::string> names_of(TunnelPath path) {
    std::vector<std::string> names;
    for (; path != 0; path >>= packet::kPathBits) {
        names.insert(names.begin(),
                     std::string(packet::kEncapsulationNames[(path & 15) - std::size_t{1}]));
    }
    return names;
}

template <typename T>
void most_first(std::vector<T>& list) {
    std::stable_sort(list.begin(), list.end(),
                     [](const T& a, const T& b) { return a.total.packets > b.total.packets; });
}

}  // namespace

void TunnelTally::add(TunnelPath path, const packet::TenantId& tenant, std::uint64_t length) {
    opened_.add(length);
    const auto found = paths_.find(path);
    (found != paths_.end() ? found->second : paths_[paths_.size() < kMostPaths ? path : 0])
        .add(length);
    if (tenant.any()) {
        tenants_.add(tenant.bits(), remix(tenant.bits(), 3), length);
    }
}

std::vector<TunnelTenant> TunnelTally::tenants() const {
    std::vector<TunnelTenant> out;
    for (const auto& [bits, count, excess, bytes] : tenants_.most(kMostShown)) {
        const auto tenant = packet::TenantId::of_bits(bits);
        out.push_back({std::string(kSpaceNames.at(static_cast<std::size_t>(tenant.space()))),
                       tenant.number(), count, excess, bytes});
    }
    return out;
}

TunnelReport TunnelTally::report() const {
    TunnelReport out;
    out.opened = opened_;
    out.fragments = counters_.fragments;
    out.malformed = counters_.malformed;
    out.other = counters_.other;
    out.too_deep = counters_.too_deep;
    std::array<Count, packet::kEncapsulations.size()> by_encapsulation{};
    for (const auto& [path, count] : paths_) {
        for (const packet::EncapsulationInfo& info : packet::kEncapsulations) {
            if (encapsulations_of(path).has(info.encapsulation)) {
                by_encapsulation[static_cast<std::size_t>(info.encapsulation)] += count;
            }
        }
        out.stacks.push_back({names_of(path), count});
    }
    for (const packet::EncapsulationInfo& info : packet::kEncapsulations) {
        const Count& count = by_encapsulation[static_cast<std::size_t>(info.encapsulation)];
        if (count.packets != 0) {
            out.encapsulations.push_back({std::string(info.name), count});
        }
    }
    most_first(out.encapsulations);
    most_first(out.stacks);
    while (out.stacks.size() > kMostShown) {
        out.other_stacks += out.stacks.back().total;
        out.stacks.pop_back();
    }
    out.tenants = tenants();
    for (const MeetingInfo& info : kMeetingTable) {
        out.meetings[static_cast<std::size_t>(info.meeting)].meeting = info.meeting;
    }
    return out;
}

}  // namespace unecho::analyze
