// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/tally/copies.h"

#include <algorithm>

namespace unecho::analyze {
namespace {

Count& at(std::vector<Count>& counts, std::size_t i) {
    if (i >= counts.size()) {
        counts.resize(i + 1);
    }
    return counts[i];
}

void merge(std::vector<Count>& into, const std::vector<Count>& part) {
    into.resize(std::max(into.size(), part.size()));
    for (std::size_t i = 0; i < part.size(); ++i) {
        into[i] += part[i];
    }
}

std::vector<Count> renumbered(const std::vector<Count>& counts, std::span<const std::uint32_t> to) {
    std::vector<Count> out;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] != Count{}) {
            at(out, to[i]) += counts[i];
        }
    }
    return out;
}

}  // namespace

void TunnelledCopies::add(const EchoTraits& echo) {
    meetings[static_cast<std::size_t>(echo.meeting)].add(echo.length);
    if (echo.other_tenant) {
        other_tenant.add(echo.length);
    }
    if (echo.meeting != TunnelRelation::kWhole) {
        needed.add(echo.around);
    }
}

void TunnelledCopies::add(const TunnelledCopies& others) {
    for (std::size_t i = 0; i < kTunnelRelations; ++i) {
        meetings[i] += others.meetings[i];
    }
    other_tenant += others.other_tenant;
    needed.add(others.needed);
}

void CopyCounts::add(const EchoTraits& echo) {
    if (echo.tunnelled) {
        tunnelled.add(echo);
    }
    fixed.add(echo.fixed, echo.length);
    refresh.add(echo.refresh, echo.length);
    kept.add(echo);
    causes[static_cast<std::size_t>(echo.cause)].add(echo.length);
    for (std::size_t bit = 0; bit < kDifferences; ++bit) {
        differences[bit] += echo.differences >> bit & 1U;
    }
    at(interfaces, echo.interface).add(echo.length);
    at(files, echo.file).add(echo.length);
    at(protocols, echo.protocol).add(echo.length);
}

void CopyCounts::add(const CopyCounts& others) {
    fixed.add(others.fixed);
    refresh.add(others.refresh);
    kept.add(others.kept);
    for (std::size_t i = 0; i < kCauses; ++i) {
        causes[i] += others.causes[i];
    }
    for (std::size_t i = 0; i < kDifferences; ++i) {
        differences[i] += others.differences[i];
    }
    tunnelled.add(others.tunnelled);
    merge(interfaces, others.interfaces);
    merge(files, others.files);
    merge(protocols, others.protocols);
}

void CopyTally::add(const EchoBin& bin, const EchoTraits& echo) {
    const std::size_t i = bin.index();
    if (i < kBins) {
        bins_[static_cast<std::uint32_t>(i)].add(echo);
    }
}

void CopyTally::add(const CopyTally& others) {
    for (const auto& [i, counts] : others.bins_) {
        bins_[i].add(counts);
    }
}

void CopyTally::renumber(std::span<const std::uint32_t> interfaces,
                         std::span<const std::uint32_t> files) {
    for (auto& [i, counts] : bins_) {
        counts.interfaces = renumbered(counts.interfaces, interfaces);
        counts.files = renumbered(counts.files, files);
    }
}

bool CopyTally::within(std::size_t interfaces, std::size_t files, std::size_t protocols) const {
    return std::all_of(bins_.begin(), bins_.end(), [&](const auto& one) {
        return one.second.interfaces.size() <= interfaces && one.second.files.size() <= files &&
               one.second.protocols.size() <= protocols;
    });
}

CopyCounts CopyTally::counts(const CopyAgeLimits& ends) const {
    CopyCounts sum;
    for (const auto& [i, counts] : bins_) {
        if (is_copy_bin(i, ends)) {
            sum.add(counts);
        }
    }
    return sum;
}

std::vector<SamePointRow> CopyTally::same_point_rows(const CopyAgeLimits& ends,
                                                     const PointParts& parts) const {
    std::map<unsigned, SamePointRow> by_age;
    for (const auto& [i, counts] : bins_) {
        const SamePointLooks looked = counts.kept.looks(parts);
        if (looked.all.packets == 0) {
            continue;
        }
        const unsigned at = i % kAgeBins;
        SamePointRow& looks = by_age.try_emplace(at, SamePointRow{at, {}, {}, {}}).first->second;
        const bool copies = is_copy_bin(i, ends);
        (copies ? looks.copies : looks.again) += looked.all;
        looks.kept.resize(kWindows);
        for (unsigned window = 0; window < kWindows; ++window) {
            const KeptRow row{looked.kept.fixed.at(window), looked.kept.refresh.at(window), {}, {}};
            looks.kept[window] += {row.fixed, row.refresh, copies ? row.fixed : Count{},
                                   copies ? row.refresh : Count{}};
        }
    }
    std::vector<SamePointRow> out;
    for (auto& [at, looks] : by_age) {
        out.push_back(std::move(looks));
    }
    return out;
}

std::uint64_t CopyTally::bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& [i, counts] : bins_) {
        const std::size_t lists =
            counts.interfaces.capacity() + counts.files.capacity() + counts.protocols.capacity();
        sum += sizeof(CopyCounts) + 64 + lists * sizeof(Count);  // 64: links of the tree
    }
    return sum;
}

}  // namespace unecho::analyze
