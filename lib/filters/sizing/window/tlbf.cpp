// SPDX-License-Identifier: BSD-3-Clause
// Time-limited Bloom Filter: k + l slices at a steady rate, up to max_slices after a change. No
// slice is filled beyond 1/2, so the false-drop rate holds at any rate. The planned rate decides
// how large the arena is.
#include "filters/sizing/window/tlbf.h"

#include <cmath>
#include <numbers>

#include "filters/sizing/search.h"

namespace unecho::sizing {
namespace {

constexpr unsigned kTlbfMaxK = 40;
constexpr unsigned kTlbfMaxL = 40;
// Generations of slices that remain in use for a while after the rate has jumped.
constexpr unsigned kSpareGenerations = 2;
static_assert(kTlbfMaxK + kTlbfMaxL <= kMaxTlbfSlices);
// Size of the arena relative to the slices at the planned rate. It leaves room for old slices after
// a change of the rate, for slices made a little too large, and for the unused end of the arena.
constexpr double kTlbfHeadRoom = 2;

Profile full_slices(unsigned k, unsigned slices) {
    return fills_half(k, slices - k, kBeforeShift);
}

std::uint64_t generation_keys(const TlbfGeometry& geometry) {
    return std::max<std::uint64_t>(geometry.capacity / geometry.l, 1);
}

WorstCase worst_case_of(const TlbfGeometry& geometry) {
    const std::uint64_t g = generation_keys(geometry);
    const unsigned k = geometry.k;
    WorstCase reached =
        worst_case(k, geometry.max_slices - k, full_slices(k, geometry.max_slices), g);
    reached.npws = npws(k, geometry.l, full_slices(k, k + geometry.l));
    return reached;
}

// Return the size for slices of k generations of g keys, each at fill 1/2.
std::uint64_t arena_for(unsigned k, unsigned l, std::uint64_t keys) {
    const double slice = static_cast<double>(keys) / l * k / std::numbers::ln2;
    const auto lines = lines_for_bits(static_cast<std::uint64_t>(std::ceil(slice)));
    const auto wanted =
        static_cast<std::uint64_t>(std::ceil(kTlbfHeadRoom * (k + l) * static_cast<double>(lines)));
    return std::max(wanted, lines * (k + 2)) * kLineBytes;
}

}  // namespace

Result<TlbfGeometry> size_tlbf(const Targets& targets) {
    UNECHO_TRY(check(targets));
    const std::uint64_t keys = keys_within(targets.window, targets.keys_per_second);
    Shortlist<TlbfGeometry> shortlist;
    for (unsigned k = 1; k <= kTlbfMaxK; ++k) {
        // A generation lasts at least a nanosecond.
        for (unsigned l = 1; l <= kTlbfMaxL && l <= targets.window; ++l) {
            TlbfGeometry geometry{k, l, std::min(k + (kSpareGenerations * l), kMaxTlbfSlices), keys,
                                  0};
            geometry.arena_bytes = arena_for(k, l, keys);
            const std::uint64_t bytes = geometry.arena_bytes + kTlbfStateBytes;
            if (bytes <= shortlist.max_bytes() && meets(worst_case_of(geometry), targets)) {
                shortlist.add(geometry, bytes);
            }
        }
    }
    const auto picked = shortlist.pick([](const TlbfGeometry& geometry) {
        return segments_of_new_key(geometry.k, geometry.l,
                                   full_slices(geometry.k, geometry.k + geometry.l));
    });
    if (!picked) {
        return too_much(targets);
    }
    return *picked;
}

Prediction predict(const TlbfGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second) {
    const auto [k, l, max_slices, capacity, arena_bytes] = geometry;
    const Load load = load_of(window, l, keys_per_second, generation_keys(geometry));
    Prediction out = predict_segments(k, l, full_slices(k, k + l), load,
                                      arena_bytes + kTlbfStateBytes, kTlbfStateBytes);
    out.false_drop = worst_case_of(geometry).false_drop;
    return out;
}

}  // namespace unecho::sizing
