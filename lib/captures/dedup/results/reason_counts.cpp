// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/results/reason_counts.h"

#include <algorithm>
#include <bit>

#include "dedup/pipeline/bits.h"
#include "dedup/pipeline/stages.h"

namespace unecho::dedup {

void ReasonCounts::add(const pipeline::Burst& burst) {
    const auto add_outcome = [&](const pipeline::ReasonMask& outcome) {
        std::uint64_t bytes = 0;
        pipeline::for_each_bit(outcome.mask, [&](unsigned i) { bytes += burst.lengths[i]; });
        reasons_[static_cast<std::size_t>(outcome.reason)].add(
            static_cast<std::uint64_t>(std::popcount(outcome.mask)), bytes);
    };
    const pipeline::Settlement settled = pipeline::settle(burst, pipeline::EchoAction::kDrop);
    std::for_each(settled.forward.begin(), settled.forward.end(), add_outcome);
    add_outcome(settled.away);
    packet::count(burst.opened, tunnels_);
    pipeline::for_each_bit(burst.keys.non_ip,
                           [&](unsigned i) { non_ip_.add(burst.link, burst.frames[i]); });
}

}  // namespace unecho::dedup
