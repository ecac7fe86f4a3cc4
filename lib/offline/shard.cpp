// SPDX-License-Identifier: BSD-3-Clause
#include "offline/shard.h"

#include <array>
#include <bit>
#include <charconv>

#include "packet/digests.h"
#include "pipeline/bits.h"

namespace unecho::offline {
namespace {

using pipeline::extract_bits;
using pipeline::for_each_bit;

// The number that all of the text is; 0 if it is none.
std::uint32_t number_in(std::string_view text) {
    std::uint32_t value = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc{} && stop == text.data() + text.size() ? value : 0;
}

}  // namespace

Result<Shard> parse_shard(const std::string& text) {
    const std::size_t slash = text.find('/');
    if (slash != std::string::npos) {
        const std::string_view all(text);
        const Shard shard{number_in(all.substr(0, slash)), number_in(all.substr(slash + 1))};
        if (shard.index != 0 && shard.index <= shard.count && shard.count <= kMostShards) {
            return shard;
        }
    }
    return fail(
        Errc::kInvalidArgument,
        "\"" + text +
            "\"; allowed: I/N, the shard's number from 1 to N and how many there are, up to " +
            std::to_string(kMostShards) + ", as in 2/3");
}

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
        // Of digests remixed, so that what is kept still fills a table evenly.
        const Digest owner = frames ? remix(burst.digests[i], 1) : owners[i];
        mask |= std::uint64_t{shard.takes(owner)} << i;
    }
    if (!frames) {
        mask = shard.index == 1 ? mask | burst.parsed.malformed : mask & ~burst.parsed.malformed;
    }
    return mask;
}

void keep_only(pipeline::Burst& burst, CapturePlace& place, std::uint64_t mask) {
    unsigned kept = 0;
    burst.bytes = 0;
    for_each_bit(mask, [&](unsigned i) {
        burst.frames[kept] = burst.frames[i];
        burst.lengths[kept] = burst.lengths[i];
        burst.times[kept] = burst.times[i];
        burst.parsed.ip[kept] = burst.parsed.ip[i];
        burst.digests[kept] = burst.digests[i];
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
          &burst.keys.non_ip, &burst.keys.malformed}) {
        *bits = extract_bits(*bits, mask);
    }
    burst.count = kept;
}

}  // namespace unecho::offline
