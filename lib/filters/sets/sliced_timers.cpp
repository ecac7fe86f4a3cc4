// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/sliced_timers.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/prefetch.h"
#include "filters/in_order.h"

namespace unecho::filter {
namespace {

// Sort the timers and return the length of the longest run of equal ones.
unsigned largest_group(std::span<Timer> timers) noexcept {
    std::sort(timers.begin(), timers.end());
    unsigned largest = 0;
    unsigned run = 0;
    for (std::size_t i = 0; i < timers.size(); ++i) {
        run = i > 0 && timers[i] == timers[i - 1] ? run + 1 : 1;
        largest = std::max(largest, run);
    }
    return largest;
}

}  // namespace

SlicedTimers::SlicedTimers(const SlicedTimersParams& params, std::span<Slice> slices) noexcept
    : params_(params), map_(params.geometry()), slices_(slices) {
    UNECHO_ASSERT(slices_.size() == params_.geometry().slices());
    for ([[maybe_unused]] const Slice& slice : slices_) {
        UNECHO_ASSERT(slice.memory.size() >= slice_bytes(params_));
        UNECHO_ASSERT(reinterpret_cast<std::uintptr_t>(slice.memory.data()) % alignof(Timer) == 0);
    }
}

SlicedTimers::Probe SlicedTimers::probe(const CellPlaces& places) const noexcept {
    Probe probe;
    std::array<Timer, kMaxSlicedHashes> found;
    for (const CellPlace& place : places) {
        if (slices_[place.slice].failed) {
            continue;
        }
        ++probe.live;
        if (const Timer timer = timers(place.slice)[place.cell]; young(timer)) {
            found[probe.young++] = timer;
        }
    }
    if (params_.x() > 1) {
        probe.equal = largest_group({found.data(), probe.young});
    } else {
        probe.equal = probe.young > 0 ? 1 : 0;
    }
    return probe;
}

bool SlicedTimers::is_echo(const CellPlaces& places) const noexcept {
    const Probe found = probe(places);
    const unsigned failed = params_.geometry().k - found.live;
    return found.young == found.live && found.live >= params_.needed() &&
           found.equal + failed >= params_.x();
}

void SlicedTimers::write(const CellPlaces& places) noexcept {
    if (params_.clock() == TimerClock::kInsertions) {
        tick();
    }
    for (const CellPlace& place : places) {
        if (!slices_[place.slice].failed) {
            timers(place.slice)[place.cell] = present_;
        }
    }
    ++counters_.insertions;
}

bool SlicedTimers::query(Digest digest) noexcept {
    const CellPlaces places = map_.places(digest);
    messages_ += contact(places, slices_);
    return is_echo(places);
}

void SlicedTimers::insert(Digest digest) noexcept {
    const CellPlaces places = map_.places(digest);
    messages_ += contact(places, slices_);
    write(places);
}

bool SlicedTimers::test_and_insert(Digest digest) noexcept {
    const CellPlaces places = map_.places(digest);
    messages_ += contact(places, slices_);
    const bool echo = is_echo(places);
    if (!echo || params_.policy() == EchoPolicy::kRefresh) {
        write(places);
    }
    return echo;
}

void SlicedTimers::prefetch(Digest digest) const noexcept {
    for (const CellPlace& place : map_.places(digest)) {
        prefetch_line_for_write(timers(place.slice) + place.cell);
    }
}

std::uint64_t SlicedTimers::test_and_insert_burst(std::span<const Digest> digests) noexcept {
    return test_in_order(*this, digests);
}

void SlicedTimers::tick() noexcept {
    ++now_;
    present_ = present_ == kTimerCycle ? Timer{1} : static_cast<Timer>(present_ + 1);
    ++counters_.shifts;
    scan(params_.scanned_per_tick());
}

// Timers of failed slices are skipped; restore() clears them.
void SlicedTimers::scan(std::uint64_t count) noexcept {
    const std::uint64_t cells = params_.geometry().cells_per_slice();
    while (count > 0) {
        const std::uint64_t here = std::min(count, cells - scan_cell_);
        if (!slices_[scan_slice_].failed) {
            Timer* const first = timers(scan_slice_) + scan_cell_;
            std::replace_if(
                first, first + here, [this](Timer timer) noexcept { return !young(timer); },
                Timer{0});
        }
        count -= here;
        scan_cell_ += here;
        if (scan_cell_ == cells) {
            scan_cell_ = 0;
            scan_slice_ = (scan_slice_ + 1) % static_cast<unsigned>(slices_.size());
        }
    }
}

void SlicedTimers::advance(Moment moment) noexcept {
    if (params_.clock() == TimerClock::kInsertions || moment.generation <= now_) {
        return;
    }
    if (moment.generation - now_ < params_.w()) {
        while (now_ < moment.generation) {
            tick();
        }
        return;
    }
    // No timer outlives w ticks.
    now_ = moment.generation;
    present_ = static_cast<Timer>(now_ % kTimerCycle + 1);
    counters_.shifts += params_.w();
    for (unsigned slice = 0; slice < slices_.size(); ++slice) {
        if (!slices_[slice].failed) {
            clear_slice(slice);
            ++counters_.inline_clears;
        }
    }
}

void SlicedTimers::clear_slice(unsigned slice) noexcept {
    std::memset(slices_[slice].memory.data(), 0, slice_bytes(params_));
}

void SlicedTimers::clear() noexcept {
    for (unsigned slice = 0; slice < slices_.size(); ++slice) {
        clear_slice(slice);
    }
}

void SlicedTimers::restore(unsigned slice) noexcept {
    if (slices_[slice].failed) {
        clear_slice(slice);
        slices_[slice].failed = false;
    }
}

}  // namespace unecho::filter
