// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/sliced.h"

#include <cstring>

#include "filters/bits.h"

namespace unecho::filter {

SlicedFilter::SlicedFilter(const SlicedParams& params, std::span<Slice> slices) noexcept
    : params_(params), map_(params.geometry()), slices_(slices) {
    UNECHO_ASSERT(slices_.size() == params_.geometry().slices());
    for ([[maybe_unused]] const Slice& slice : slices_) {
        UNECHO_ASSERT(slice.memory.size() >= slice_bytes(params_));
    }
}

SlicedFilter::Probe SlicedFilter::probe(const CellPlaces& places) const noexcept {
    Probe probe;
    for (const CellPlace& place : places) {
        const Slice& slice = slices_[place.slice];
        if (!slice.failed) {
            ++probe.live;
            probe.set += test_bit(slice.memory.data(), place.cell) ? 1 : 0;
        }
    }
    return probe;
}

bool SlicedFilter::is_echo(const CellPlaces& places) const noexcept {
    const Probe found = probe(places);
    return found.set == found.live && found.live >= params_.needed();
}

void SlicedFilter::set(const CellPlaces& places) noexcept {
    for (const CellPlace& place : places) {
        const Slice& slice = slices_[place.slice];
        if (!slice.failed) {
            set_bit(slice.memory.data(), place.cell);
        }
    }
    ++counters_.insertions;
}

bool SlicedFilter::query(Digest digest) noexcept {
    const CellPlaces places = map_.places(digest);
    counters_.messages += contact(places, slices_);
    return is_echo(places);
}

void SlicedFilter::insert(Digest digest) noexcept {
    const CellPlaces places = map_.places(digest);
    counters_.messages += contact(places, slices_);
    set(places);
}

// Test and set with one message. All live bits of an echo are set already. So slices need not wait
// for each other's answers.
bool SlicedFilter::test_and_insert(Digest digest) noexcept {
    const CellPlaces places = map_.places(digest);
    counters_.messages += contact(places, slices_);
    const bool echo = is_echo(places);
    if (!echo) {
        set(places);
    }
    return echo;
}

void SlicedFilter::clear() noexcept {
    for (const Slice& slice : slices_) {
        std::memset(slice.memory.data(), 0, slice_bytes(params_));
    }
}

}  // namespace unecho::filter
