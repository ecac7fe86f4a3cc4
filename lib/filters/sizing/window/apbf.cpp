// SPDX-License-Identifier: BSD-3-Clause
// Age-Partitioned Bloom Filter: k + l slices of m bits. A key sets one bit in each.
#include "filters/sizing/window/apbf.h"

#include "filters/sizing/search.h"

namespace unecho::sizing {
namespace {

// Limits of the search: more slices cost more cache lines than they save memory.
constexpr unsigned kApbfMaxK = 26;
constexpr unsigned kApbfMaxL = 63;

std::uint64_t bytes_of(const ApbfGeometry& geometry) {
    return (geometry.k + geometry.l) * lines_for_bits(geometry.m) * kLineBytes + kSegmentRingBytes;
}

Profile before_shift(const ApbfGeometry& geometry, std::uint64_t generation_keys) {
    return fills(geometry.k, geometry.l, geometry.m, generation_keys, kBeforeShift);
}

}  // namespace

Result<ApbfGeometry> size_apbf(const Targets& targets) {
    UNECHO_TRY(check(targets));
    const auto keys = [&](unsigned l) {
        return load_within(generation_length(targets.window, l), targets);
    };
    Shortlist<ApbfGeometry> shortlist;
    for (unsigned k = 1; k <= kApbfMaxK; ++k) {
        for (unsigned l = 1; l <= kApbfMaxL; ++l) {
            const std::uint64_t g = keys(l);
            const std::uint64_t most =
                (shortlist.max_bytes() - kSegmentRingBytes) / ((k + l) * kLineBytes);
            const auto lines = smallest(1, most, [&](std::uint64_t n) {
                const Profile r = before_shift(ApbfGeometry{k, l, n * kLineBits}, g);
                return meets(worst_case(k, l, r, g), targets);
            });
            if (lines) {
                const ApbfGeometry found{k, l, *lines * kLineBits};
                shortlist.add(found, bytes_of(found));
            }
        }
    }
    const auto picked = shortlist.pick([&](const ApbfGeometry& geometry) {
        return segments_of_new_key(geometry.k, geometry.l,
                                   before_shift(geometry, keys(geometry.l)));
    });
    if (!picked) {
        return too_much(targets);
    }
    return *picked;
}

Prediction predict(const ApbfGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second) {
    const auto [k, l, m] = geometry;
    const Load load = load_of(window, l, keys_per_second, generation_capacity(m, k));
    return predict_segments(k, l, before_shift(geometry, load.generation_keys), load,
                            bytes_of(geometry));
}

}  // namespace unecho::sizing
