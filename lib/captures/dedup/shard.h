// SPDX-License-Identifier: BSD-3-Clause
// One of N processes that share the work on the same captures. Each reads all packets and decides
// its own, so that together they drop exactly what one alone would drop. A packet's owner follows
// from its flow with sorted ends, as among workers (packets/keys/digests.h). So all copies of a
// packet, and all packets of a flow in both directions, are in one shard. With frame keys, the
// owner follows from all bytes. Malformed packets are the first shard's.
#pragma once

#include <cstdint>

#include "base/shard.h"
#include "captures/dedup/deciders/decider.h"
#include "filters/hash/digest.h"
#include "filters/hash/secret.h"
#include "packets/keys/key.h"

namespace unecho::dedup {

[[nodiscard]] inline bool takes(const Shard& shard, Digest owner) noexcept {
    return reduce(owner, shard.count) + 1 == shard.index;
}

// Return which packets of a parsed burst are the shard's; only owner digests are computed for it.
// With frame keys, the burst must be digested already.
[[nodiscard]] std::uint64_t shard_mask(const pipeline::Burst& burst, packet::KeyMode mode,
                                       const hash::Secret& secret, const Shard& shard);

// Keep only these packets in the burst and its position, side by side and in order.
void compact_burst(pipeline::Burst& burst, BurstPosition& place, std::uint64_t mask);

}  // namespace unecho::dedup
