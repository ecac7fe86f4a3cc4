// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/tally/prefixes.h"

#include <algorithm>

namespace unecho::analyze {

void PrefixCounts::add(const PrefixCounts& more) {
    for (std::size_t i = 0; i < kKeyBytesAsked.size(); ++i) {
        cut[i].add(more.cut[i]);
        others[i].add(more.others[i]);
    }
    around.add(more.around);
    across_tenants += more.across_tenants;
}

PrefixTable::PrefixTable(std::size_t bytes) {
    tables_.reserve(kKeyBytesAsked.size());
    while (tables_.size() < kKeyBytesAsked.size()) {
        tables_.emplace_back(bytes / kKeyBytesAsked.size(), kLadders);
    }
}

PrefixTable::PrefixTable(const PrefixTable& other, std::size_t bytes) : counts_(other.counts_) {
    tables_.reserve(kKeyBytesAsked.size());
    for (const Table& table : other.tables_) {
        tables_.emplace_back(table, bytes / kKeyBytesAsked.size(), kLadders);
    }
}

// Return true if one of the two was cut, and they are equal as far as both reach. If both had
// reached the next larger limit, they would have been found with that one.
bool PrefixTable::cut_copies(const Entry& first, const Packet& echo, std::size_t i) {
    const std::uint32_t both = std::min<std::uint32_t>(first.captured, echo.captured);
    const bool longer = i + 1 < kKeyBytesAsked.size() && both >= kKeyBytesAsked[i + 1];
    return first.captured != echo.captured && (first.cut != 0 || echo.cut) && !longer;
}

// Try limits from most bytes to fewest: the first match is the most significant.
bool PrefixTable::add(const Digests& digests, const Packet& packet, Nanoseconds now) {
    bool found = false;
    bool cut = false;
    for (std::size_t i = kKeyBytesAsked.size(); i-- > 0;) {
        Entry* entry = tables_[i].find(digests[i]);
        if (entry == nullptr) {
            Entry& fresh = tables_[i].insert(digests[i], now);
            fresh.path = packet.path;
            fresh.tenant = packet.tenant;
            fresh.captured = packet.captured & 0x7FFF'FFFFU;
            fresh.cut = packet.cut ? 1 : 0;
            continue;
        }
        const WindowMask dropped = tables_[i].seen_again(*entry, now) & ~packet.dropped;
        if (!found && (dropped != 0 || packet.dropped == 0)) {
            found = true;
            cut = cut_copies(*entry, packet, i);
            if (cut) {
                counts_.around.add(encapsulations_of(entry->path));
                counts_.around.add(encapsulations_of(packet.path));
                if (entry->tenant != packet.tenant) {
                    counts_.across_tenants.add(packet.length);
                }
            }
        }
        (cut ? counts_.cut : counts_.others)[i].add(dropped, packet.length);
    }
    return cut;
}

std::size_t PrefixTable::bytes() const noexcept {
    std::size_t sum = 0;
    for (const Table& table : tables_) {
        sum += table.bytes();
    }
    return sum;
}

}  // namespace unecho::analyze
