// SPDX-License-Identifier: BSD-3-Clause
// Age-Partitioned Blocked Bloom Filter: k + l segments of blocks. In each segment a key sets b bits
// in one block, that is in one cache line.
#include "filters/sizing/window/apbbf.h"

#include <array>

#include "filters/sizing/search.h"

namespace unecho::sizing {
namespace {

constexpr unsigned kApbbfMaxK = 6;
constexpr unsigned kApbbfMinL = 2;
constexpr unsigned kApbbfMaxL = 16;
// Smaller blocks need 1 to 18 % more memory at any target.
constexpr unsigned kBlockBits = 512;
// With these, parts have equal sizes, powers of two, and positions in them are plain bits of a
// hash. Other numbers would save at most 3 % of the memory.
constexpr std::array<unsigned, 4> kApbbfBits{2, 4, 8, 16};

std::uint64_t bytes_of(const ApbbfGeometry& geometry) {
    return (geometry.k + geometry.l) * lines_for_bits(geometry.blocks * geometry.B) * kLineBytes +
           kSegmentRingBytes;
}

Profile before_shift(const ApbbfGeometry& geometry, std::uint64_t generation_keys) {
    return block_profile(geometry.k, geometry.l, geometry.B, geometry.b, geometry.blocks,
                         generation_keys, kBeforeShift);
}

// Return the keys of a generation that bring the blocks to fill 1/2 in k generations.
std::uint64_t capacity(const ApbbfGeometry& geometry) {
    return static_cast<std::uint64_t>(static_cast<double>(geometry.blocks) *
                                      block_capacity(geometry.B, geometry.b) / geometry.k);
}

// Add the geometry with k, l and b that needs the fewest blocks.
void consider(const Targets& targets, ApbbfGeometry geometry, std::uint64_t generation_keys,
              Shortlist<ApbbfGeometry>& shortlist) {
    geometry.blocks = 1;
    const std::uint64_t most =
        (shortlist.max_bytes() - kSegmentRingBytes) / (bytes_of(geometry) - kSegmentRingBytes);
    const auto blocks = smallest(1, most, [&](std::uint64_t n) {
        geometry.blocks = n;
        const Profile r = before_shift(geometry, generation_keys);
        return meets(worst_case(geometry.k, geometry.l, r, generation_keys), targets);
    });
    if (blocks) {
        geometry.blocks = *blocks;
        shortlist.add(geometry, bytes_of(geometry));
    }
}

}  // namespace

Result<ApbbfGeometry> size_apbbf(const Targets& targets) {
    UNECHO_TRY(check(targets));
    const auto keys = [&](unsigned l) {
        return load_within(generation_length(targets.window, l), targets);
    };
    Shortlist<ApbbfGeometry> shortlist;
    for (unsigned k = 1; k <= kApbbfMaxK; ++k) {
        for (unsigned l = kApbbfMinL; l <= kApbbfMaxL; ++l) {
            for (const unsigned b : kApbbfBits) {
                consider(targets, {k, l, kBlockBits, b, 0}, keys(l), shortlist);
            }
        }
    }
    const auto picked = shortlist.pick([&](const ApbbfGeometry& geometry) {
        return segments_of_new_key(geometry.k, geometry.l,
                                   before_shift(geometry, keys(geometry.l)));
    });
    if (!picked) {
        return too_much(targets);
    }
    return *picked;
}

Prediction predict(const ApbbfGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second) {
    const Load load = load_of(window, geometry.l, keys_per_second, capacity(geometry));
    return predict_segments(geometry.k, geometry.l, before_shift(geometry, load.generation_keys),
                            load, bytes_of(geometry));
}

}  // namespace unecho::sizing
