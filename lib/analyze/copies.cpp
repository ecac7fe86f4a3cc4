// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/copies.h"

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
    if (echo.meeting != Meeting::kWhole) {
        needed.add(echo.around);
    }
}

void TunnelledCopies::add(const TunnelledCopies& others) {
    for (std::size_t i = 0; i < kMeetings; ++i) {
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

Copies::Copies(const Copies& other) : bins_(kBins) {
    for (std::size_t i = 0; i < kBins; ++i) {
        bins_[i] = other.bins_[i] ? std::make_unique<CopyCounts>(*other.bins_[i]) : nullptr;
    }
}

void Copies::add(const EchoBin& bin, const EchoTraits& echo) {
    const std::size_t i = bin.index();
    if (i >= bins_.size()) {
        return;
    }
    if (!bins_[i]) {
        bins_[i] = std::make_unique<CopyCounts>();
    }
    bins_[i]->add(echo);
}

void Copies::add(const Copies& others) {
    for (std::size_t i = 0; i < kBins; ++i) {
        if (others.bins_[i]) {
            bins_[i] = bins_[i] ? std::move(bins_[i]) : std::make_unique<CopyCounts>();
            bins_[i]->add(*others.bins_[i]);
        }
    }
}

void Copies::renumber(std::span<const std::uint32_t> interfaces,
                      std::span<const std::uint32_t> files) {
    for (const auto& one : bins_) {
        if (one) {
            one->interfaces = renumbered(one->interfaces, interfaces);
            one->files = renumbered(one->files, files);
        }
    }
}

bool Copies::within(std::size_t interfaces, std::size_t files, std::size_t protocols) const {
    return std::all_of(bins_.begin(), bins_.end(), [&](const auto& one) {
        return !one || (one->interfaces.size() <= interfaces && one->files.size() <= files &&
                        one->protocols.size() <= protocols);
    });
}

std::map<std::uint32_t, CopyCounts> Copies::by_bin() const {
    std::map<std::uint32_t, CopyCounts> out;
    for (std::size_t i = 0; i < kBins; ++i) {
        if (bins_[i]) {
            out.emplace(static_cast<std::uint32_t>(i), *bins_[i]);
        }
    }
    return out;
}

bool Copies::take(std::map<std::uint32_t, CopyCounts> some) {
    for (auto& [bin, counts] : some) {
        if (bin >= kBins) {
            return false;
        }
        bins_[bin] = std::make_unique<CopyCounts>(std::move(counts));
    }
    return true;
}

CopyCounts Copies::counts(const CopyEnds& ends) const {
    CopyCounts sum;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
        if (bins_[i] && is_of_copies(i, ends)) {
            sum.add(*bins_[i]);
        }
    }
    return sum;
}

std::size_t Copies::used_bins() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(bins_.begin(), bins_.end(), [](const auto& one) { return one != nullptr; }));
}

std::uint64_t Copies::bytes() const noexcept {
    std::uint64_t sum = bins_.size() * sizeof(bins_[0]);
    for (const auto& one : bins_) {
        if (one) {
            const std::size_t counts =
                one->interfaces.capacity() + one->files.capacity() + one->protocols.capacity();
            sum += sizeof(CopyCounts) + counts * sizeof(Count);
        }
    }
    return sum;
}

}  // namespace unecho::analyze
