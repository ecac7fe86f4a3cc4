// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/chance.h"

#include <algorithm>

namespace unecho::filter {

// F(k, l, a, i) of APBF section 5.3, from the oldest slot to the youngest. f[a] is the chance of a
// run if a matches are just before slot i.
float chance_of_run(const SegmentRing& ring, const MatchTable& table) noexcept {
    // Bound on the rounding error of the sums: 2^-24 each, at most 3 * kMaxSlots of them.
    constexpr float kRounding = 1 + 0x1p-15F;
    const unsigned k = ring.geometry().k;
    std::array<float, kMaxSlots + 1> f;
    std::fill_n(f.begin(), k, 0.0F);
    f[k] = 1;
    for (unsigned slot = ring.slots(); slot-- > 0;) {
        const float r = table.match(ring.changes(slot));
        const float broken = (1 - r) * f[0];
        for (unsigned a = 0; a < k; ++a) {
            f[a] = r * f[a + 1] + broken;
        }
    }
    return std::clamp(f[0] * kRounding, kMinChance, 1.0F);
}

// An insertion changes a segment at most once, and only slots 0..k-1.
void CachedChance::renew(const SegmentRing& ring, const MatchTable& table,
                         const FilterCounters& counters) noexcept {
    std::uint64_t room = ~std::uint64_t{0};
    for (unsigned slot = 0; slot < ring.geometry().k; ++slot) {
        const std::uint64_t changes = ring.changes(slot);
        room = std::min(room, table.rounded(changes) - changes);
    }
    chance_ = chance_of_run(ring, table);
    generation_ = ring.generation();
    last_ = counters.insertions + room;
}

}  // namespace unecho::filter
