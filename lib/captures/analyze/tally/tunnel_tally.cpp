// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/tally/tunnel_tally.h"

#include <algorithm>
#include <string>

#include "filters/hash/digest.h"
#include "packets/headers.h"

namespace unecho::analyze {
namespace {

constexpr std::size_t kMaxShown = 20;

constexpr std::array<std::string_view, 7> kSpaceNames{"",     "VNI",          "I-SID",    "GRE key",
                                                      "TEID", "L2TP session", "PPTP call"};

// Outermost first.
std::vector<std::string> names_of(TunnelPath path) {
    std::vector<std::string> names;
    for (; path != 0; path >>= packet::kPathBits) {
        const std::size_t number = path & packet::kPathMask;
        names.insert(names.begin(), std::string(packet::kEncapsulationNames[number - 1]));
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
    (found != paths_.end() ? found->second : paths_[paths_.size() < kMaxPaths ? path : 0])
        .add(length);
    if (tenant.any()) {
        tenants_.add(tenant.bits(), remix(tenant.bits(), 3), length);
    }
}

void TunnelFindings::add(const TunnelFindings& more) {
    fold(packet::kTunnelCounters, more.counters, counters);
    opened += more.opened;
    for (const auto& [path, count] : more.paths) {
        paths[path] += count;
    }
    tenants.add(more.tenants);
}

bool TunnelFindings::valid() const {
    bool out = true;
    for (const auto& [path, count] : paths) {
        for (TunnelPath rest = path; rest != 0; rest >>= packet::kPathBits) {
            const TunnelPath number = rest & packet::kPathMask;
            out = out && number != 0 && number <= packet::kEncapsulations.size();
        }
    }
    tenants.for_each([&](const auto& slot) { out = out && slot.key >> 32 < kSpaceNames.size(); });
    return out;
}

namespace {

std::vector<TunnelTenant> tenants_of(const TopSummary<std::uint64_t>& tenants) {
    std::vector<TunnelTenant> out;
    for (const auto& [bits, count, excess, bytes] : tenants.most(kMaxShown)) {
        const auto tenant = packet::TenantId::of_bits(bits);
        out.push_back({std::string(kSpaceNames.at(static_cast<std::size_t>(tenant.space()))),
                       tenant.number(), count, excess, bytes});
    }
    return out;
}

}  // namespace

TunnelReport TunnelFindings::report() const {
    TunnelReport out;
    out.opened = opened;
    out.fragments = counters.fragments;
    out.malformed = counters.malformed;
    out.other = counters.other;
    out.too_deep = counters.too_deep;
    std::array<Count, packet::kEncapsulations.size()> by_encapsulation{};
    for (const auto& [path, count] : paths) {
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
    while (out.stacks.size() > kMaxShown) {
        out.other_stacks += out.stacks.back().total;
        out.stacks.pop_back();
    }
    out.tenants = tenants_of(tenants);
    for (const TunnelRelationInfo& info : kMeetingTable) {
        out.meetings[static_cast<std::size_t>(info.meeting)].meeting = info.meeting;
    }
    return out;
}

}  // namespace unecho::analyze
