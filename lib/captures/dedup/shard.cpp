// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/shard.h"

#include <array>
#include <bit>

#include "dedup/pipeline/bits.h"
#include "packets/keys/digests.h"

namespace unecho::dedup {
namespace {

using pipeline::extract_bits;
using pipeline::for_each_bit;

}  // namespace

std::uint64_t shard_mask(const pipeline::Burst& burst, packet::KeyMode mode,
                         const hash::Secret& secret, const Shard& shard) {
    const bool frames = mode == packet::KeyMode::kFrame;
    std::array<Digest, kMaxBurst> owners;
    if (!frames) {
        packet::owner_digests(burst.link, {burst.frames.data(), burst.count}, burst.parsed, secret,
                              owners.data());
    }
    std::uint64_t mask = 0;
    for (unsigned i = 0; i < burst.count; ++i) {
        // Remix digests, so that those of a shard still fill a table evenly.
        const Digest owner = frames ? remix(burst.digests[i], 1) : owners[i];
        mask |= std::uint64_t{takes(shard, owner)} << i;
    }
    if (!frames) {
        mask = shard.index == 1 ? mask | burst.parsed.malformed : mask & ~burst.parsed.malformed;
    }
    return mask;
}

void compact_burst(pipeline::Burst& burst, BurstPosition& place, std::uint64_t mask) {
    unsigned kept = 0;
    burst.bytes = 0;
    for_each_bit(mask, [&](unsigned i) {
        burst.frames[kept] = burst.frames[i];
        burst.lengths[kept] = burst.lengths[i];
        burst.times[kept] = burst.times[i];
        burst.parsed.ip[kept] = burst.parsed.ip[i];
        burst.digests[kept] = burst.digests[i];
        burst.ports[kept] = burst.ports[i];
        burst.groups[kept] = burst.groups[i];
        burst.places[kept] = burst.places[i];
        burst.opened.tenants[kept] = burst.opened.tenants[i];
        place.numbers[kept] = place.numbers[i];
        place.files[kept] = place.files[i];
        burst.bytes += burst.lengths[i];
        ++kept;
    });
    for (std::uint64_t* const bits :
         {&burst.too_long, &burst.parsed.ipv4, &burst.parsed.ipv6, &burst.parsed.non_ip,
          &burst.parsed.malformed, &burst.opened.opened, &burst.opened.fragments,
          &burst.opened.malformed, &burst.opened.other, &burst.opened.too_deep, &burst.keys.keyed,
          &burst.keys.non_ip, &burst.keys.malformed, &burst.unidentified}) {
        *bits = extract_bits(*bits, mask);
    }
    burst.count = kept;
}

}  // namespace unecho::dedup
