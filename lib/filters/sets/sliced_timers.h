// SPDX-License-Identifier: BSD-3-Clause
// A sliding-window Bloom filter with timers instead of bits, over S slices: an insertion writes the
// present tick into each of the key's k timers, a digest is an echo iff all of them are younger
// than w ticks, and at least x of them are equal: those of one insertion carry the same tick.
//
// Guarantee: with x = 1 and no slice failed, a digest inserted in tick j is an echo through tick
//   j + w - 1; from j + w on it is new but for false positives (slack 0). Ticks are generations,
//   or insertions: then the last w insertions are remembered.
// Cost: as a sliced filter, one message to each slice contacted. 16 m bits. A tick scans
//   m / (65535 - w) timers for expired ones, so that none is met again after its 16 bits wrapped;
//   w ticks or more at once clear everything (inline_clears counts slices).
// Accuracy: with n insertions in the window (1 - (1 - 1/m)^(kn))^k at x = 1. A larger x has fewer
//   false positives, but loses a duplicate once fewer than x of its timers are still its own: with
//   5 to 8 timers for an insertion of the window x = 2 divides false positives by 27 to 144 and
//   loses 3 % to 14 %. filters/sizing/sets/slicing.h: fpr_equal_timers and fnr_equal_timers.
// Weakness: 16 times the memory of bits; x > 1 has false negatives inside the window.
// References: One is enough: distributed filtering for duplicate elimination, section 3 (slicing,
//   sliding windows and equal timers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "base/result.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/sets/slices.h"

namespace unecho::filter {

// A timer is a tick modulo kTimerCycle, plus 1; 0 stands for never.
using Timer = std::uint16_t;
inline constexpr unsigned kTimerCycle = 65535;

// What makes a tick.
enum class TimerClock : std::uint8_t { kGenerations, kInsertions };

struct SlicedTimersSpec {
    SliceGeometry geometry{};  // cells are timers
    unsigned w = 0;            // ticks of the window
    unsigned x = 1;            // timers that must be equal
    TimerClock clock = TimerClock::kGenerations;
    EchoPolicy policy = EchoPolicy::kFixed;
    FailedCells failed = FailedCells::kSet;
    unsigned live = 0;  // for FailedCells::kAtLeast: timers that must be reached
};

// A spec that was checked.
class SlicedTimersParams {
  public:
    static Result<SlicedTimersParams> make(const SlicedTimersSpec& spec);

    [[nodiscard]] const SliceGeometry& geometry() const noexcept { return spec_.geometry; }
    [[nodiscard]] unsigned w() const noexcept { return spec_.w; }
    [[nodiscard]] unsigned x() const noexcept { return spec_.x; }
    [[nodiscard]] TimerClock clock() const noexcept { return spec_.clock; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }
    [[nodiscard]] unsigned needed() const noexcept {
        return needed_live(spec_.failed, spec_.geometry.k, spec_.live);
    }
    // An expired timer looks young again kTimerCycle ticks after it was written. In the ticks
    // between, kTimerCycle - w of them, every timer is visited once.
    [[nodiscard]] std::uint64_t scanned_per_tick() const noexcept {
        const std::uint64_t ticks = kTimerCycle - spec_.w;
        return (spec_.geometry.m + ticks - 1) / ticks;
    }

  private:
    explicit SlicedTimersParams(const SlicedTimersSpec& spec) noexcept : spec_(spec) {}
    SlicedTimersSpec spec_;
};

class SlicedTimers {
  public:
    // What the memory of each slice must hold, zeroed and aligned for Timer.
    [[nodiscard]] static std::size_t slice_bytes(const SlicedTimersParams& params) noexcept {
        return params.geometry().cells_per_slice() * sizeof(Timer);
    }

    // S S' slices; they stay the caller's, who keeps them for the filter's life.
    SlicedTimers(const SlicedTimersParams& params, std::span<Slice> slices) noexcept;

    // The timers of a digest that can be reached, those of them inside the window, and the most of
    // these that are equal.
    struct Probe {
        unsigned live = 0;
        unsigned young = 0;
        unsigned equal = 0;
    };
    [[nodiscard]] Probe probe(Digest digest) const noexcept { return probe(map_.places(digest)); }

    void prefetch(Digest digest) const noexcept;
    bool test_and_insert(Digest digest) noexcept;
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept;
    // Moves ticks forward to the moment's generation. Does nothing when insertions make the ticks.
    void advance(Moment moment) noexcept;
    void clear() noexcept;

    // The two halves of test_and_insert, without a policy. Each sends messages.
    bool query(Digest digest) noexcept;
    void insert(Digest digest) noexcept;

    // A failed slice is neither asked, written nor scanned: what can be reached decides, as if the
    // failed timers agreed with it. Restored, it is empty: its timers may have wrapped.
    void fail(unsigned slice) noexcept { slices_[slice].failed = true; }
    void restore(unsigned slice) noexcept;

    [[nodiscard]] const SlicedTimersParams& params() const noexcept { return params_; }
    [[nodiscard]] std::span<const Slice> slices() const noexcept { return slices_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }
    // To slices, by all operations.
    [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
    [[nodiscard]] std::uint64_t now() const noexcept { return now_; }

  private:
    [[nodiscard]] Timer* timers(unsigned slice) const noexcept {
        return reinterpret_cast<Timer*>(slices_[slice].memory.data());
    }
    [[nodiscard]] bool young(Timer timer) const noexcept {
        const unsigned age = present_ >= timer ? present_ - timer : present_ + kTimerCycle - timer;
        return timer != 0 && age < params_.w();
    }
    [[nodiscard]] Probe probe(const CellPlaces& places) const noexcept;
    [[nodiscard]] bool is_echo(const CellPlaces& places) const noexcept;
    void write(const CellPlaces& places) noexcept;
    void tick() noexcept;
    void scan(std::uint64_t count) noexcept;
    void clear_slice(unsigned slice) noexcept;

    SlicedTimersParams params_;
    SliceMap map_;
    std::span<Slice> slices_;
    std::uint64_t now_ = 0;
    Timer present_ = 1;  // now_ as a timer
    unsigned scan_slice_ = 0;
    std::uint64_t scan_cell_ = 0;
    std::uint64_t messages_ = 0;
    FilterCounters counters_;
};

static_assert(SlidingFilter<SlicedTimers>);

}  // namespace unecho::filter
