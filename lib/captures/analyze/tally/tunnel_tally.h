// SPDX-License-Identifier: BSD-3-Clause
// Packets in tunnels, by the encapsulations around them and by tenant, in bounded memory: of the
// packets of a frequent tenant, at most `excess` belong to others (top_counts.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "captures/analyze/report/report.h"
#include "captures/analyze/tally/top_counts.h"
#include "packets/keys/cause.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::analyze {

using packet::encapsulations_of;
using packet::path_of;
using packet::tenant_mark;
using packet::tunnel_of;
using packet::TunnelPath;

// Mergeable counts. Paths beyond a few hundred are counted as path 0.
struct TunnelFindings {
    packet::TunnelCounters counters;
    Count opened;
    std::map<TunnelPath, Count> paths;
    TopSummary<std::uint64_t> tenants;  // by TenantId::bits()

    void add(const TunnelFindings& more);
    [[nodiscard]] bool any() const noexcept {
        return (counters.opened | counters.fragments | counters.malformed | counters.other |
                counters.too_deep) != 0;
    }
    [[nodiscard]] bool valid() const;
    // Return the report, except for the fields that depend on copies.
    [[nodiscard]] TunnelReport report() const;

    template <typename Io>
    void state(Io& io) {
        io(counters.opened, counters.fragments, counters.malformed, counters.other,
           counters.too_deep, opened, paths, tenants);
    }
};

class TunnelTally {
  public:
    // Count the packets of a burst that were not opened, or not to their end, by reason.
    void add(const packet::DecapsulatedBurst& burst) noexcept { packet::count(burst, counters_); }
    void add(TunnelPath path, const packet::TenantId& tenant, std::uint64_t length);

    [[nodiscard]] TunnelFindings findings() const {
        return {counters_, opened_, paths_, tenants_.summary()};
    }

  private:
    static constexpr std::size_t kMaxPaths = 256;
    static constexpr std::size_t kSets = 256;

    packet::TunnelCounters counters_;
    Count opened_;
    std::map<TunnelPath, Count> paths_;
    TopCounts<std::uint64_t> tenants_{kSets};
};

}  // namespace unecho::analyze
