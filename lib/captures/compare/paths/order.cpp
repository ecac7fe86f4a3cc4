// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/paths/order.h"

#include <algorithm>
#include <map>

namespace unecho::compare {
namespace {

// Return how many packets of a flow overtook one of it, at most. numbers: in order of arrival.
std::uint64_t farthest_in(const std::vector<std::uint32_t>& numbers) {
    constexpr std::size_t kReach = 4096;
    std::vector<std::uint32_t> before;  // that arrived before, in order of sending
    std::uint64_t farthest = 0;
    for (const std::uint32_t number : numbers) {
        const auto overtook = std::upper_bound(before.begin(), before.end(), number);
        farthest = std::max(farthest, static_cast<std::uint64_t>(before.end() - overtook));
        before.insert(overtook, number);
        if (before.size() > kReach) {
            before.erase(before.begin(), before.begin() + kReach / 2);
        }
    }
    return farthest;
}

}  // namespace

Reordering reordering_of(std::vector<Arrival> arrivals, std::size_t flows) {
    Reordering out;
    if (std::is_sorted(arrivals.begin(), arrivals.end())) {
        return out;
    }
    std::sort(arrivals.begin(), arrivals.end());
    std::uint32_t newest = 0;
    std::vector<std::uint32_t> newest_of(flows);
    std::map<std::uint32_t, std::vector<std::uint32_t>> disordered;  // flows, with their numbers
    for (const Arrival& one : arrivals) {
        out.of_all += one.number < newest ? 1 : 0;
        newest = std::max(newest, one.number);
        std::uint32_t& of_flow = newest_of[one.flow];
        if (one.number < of_flow) {
            ++out.in_flow;
            disordered[one.flow];
        }
        of_flow = std::max(of_flow, one.number);
    }
    for (const Arrival& one : arrivals) {
        if (const auto flow = disordered.find(one.flow); flow != disordered.end()) {
            flow->second.push_back(one.number);
        }
    }
    for (const auto& [flow, numbers] : disordered) {
        out.farthest = std::max(out.farthest, farthest_in(numbers));
    }
    return out;
}

}  // namespace unecho::compare
