// SPDX-License-Identifier: BSD-3-Clause
// One of N processes that share the work on the same captures: each reads all packets and decides
// those that are its own, so that together they drop what one alone drops, exactly. Whose a packet
// is follows from its flow, with its ends sorted, as among the workers of the appliance
// (packets/keys/digests.h): all copies of a packet, both directions and all packets of a flow are
// in one shard. With frames as keys, whose sameness asks for no packet in them, it follows from all
// their bytes. Packets cut short in a header that says where they lie are the first shard's.
#pragma once

#include <cstdint>

#include "base/shard.h"
#include "captures/dedup/deciders/decider.h"
#include "filters/hash/digest.h"
#include "filters/hash/secret.h"
#include "packets/keys/key.h"

namespace unecho::offline {

[[nodiscard]] inline bool takes(const Shard& shard, Digest owner) noexcept {
    return reduce(owner, shard.count) + 1 == shard.index;
}

// Which packets of a parsed burst are the shard's: owner digests and no more are needed of others.
// With frames as keys the burst is digested already.
[[nodiscard]] std::uint64_t shard_mask(const pipeline::Burst& burst, packet::KeyMode mode,
                                       const hash::Secret& secret, const Shard& shard);

// Leaves these packets in the burst and its place, side by side and in order.
void compact_burst(pipeline::Burst& burst, BurstPosition& place, std::uint64_t mask);

}  // namespace unecho::offline
