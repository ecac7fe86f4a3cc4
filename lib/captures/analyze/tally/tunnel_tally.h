// SPDX-License-Identifier: BSD-3-Clause
// What is in which tunnel: packets by the encapsulations around them, and by tenant. In bounded
// memory: of the most frequent tenants at most `excess` packets belong to others (top_counts.h).
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

// What was counted, which merges: paths beyond a few hundred as path 0.
struct TunnelFindings {
    packet::TunnelCounters counters;
    Count opened;
    std::map<TunnelPath, Count> paths;
    TopSummary<std::uint64_t> tenants;  // by their bits

    void add(const TunnelFindings& more);
    [[nodiscard]] bool any() const noexcept {
        return (counters.opened | counters.fragments | counters.malformed | counters.other |
                counters.too_deep) != 0;
    }
    // Whether there are such paths and tenants.
    [[nodiscard]] bool valid() const;
    // But for what the packets' copies say.
    [[nodiscard]] TunnelReport report() const;

    template <typename Io>
    void state(Io& io) {
        io(counters.opened, counters.fragments, counters.malformed, counters.other,
           counters.too_deep, opened, paths, tenants);
    }
};

class TunnelTally {
  public:
    // Of a burst: why what was not opened, or not to its end, was not.
    void add(const packet::DecapsulatedBurst& burst) noexcept { packet::count(burst, counters_); }
    // A packet that was opened.
    void add(TunnelPath path, const packet::TenantId& tenant, std::uint64_t length);

    [[nodiscard]] TunnelFindings findings() const {
        return {counters_, opened_, paths_, tenants_.summary()};
    }

  private:
    static constexpr std::size_t kMaxPaths = 256;
    static constexpr std::size_t kSets = 256;

    packet::TunnelCounters counters_;
    Count opened_;
    std::map<TunnelPath, Count> paths_;        // those beyond kMaxPaths as path 0
    TopCounts<std::uint64_t> tenants_{kSets};  // by their bits
};

}  // namespace unecho::analyze
