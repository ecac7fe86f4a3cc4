// SPDX-License-Identifier: BSD-3-Clause
// Sliced timing Bloom filter: a sliding window with timers instead of bits, over S slices. An
// insertion writes the present tick into each of the key's k timers. A digest is an echo if all of
// them are younger than w ticks and at least x are equal, because one insertion writes equal ticks.
//
// Guarantee: with x = 1 and no slice failed, a digest inserted in tick j is an echo through tick j
//   + w - 1; from j + w on it is new except for false positives (slack 0). Ticks are generations or
//   insertions; with the latter the last w insertions are remembered.
// Cost: one message to each slice contacted, like a sliced filter. 16 m bits. A tick scans m /
//   (65535 - w) timers and clears expired ones, before their 16 bits wrap around. A step of w ticks
//   or more clears everything (inline_clears counts slices).
// Accuracy: with n insertions in the window (1 - (1 - 1/m)^(kn))^k at x = 1. A larger x has fewer
//   false positives, but loses a duplicate when fewer than x of its timers are still its own. With
//   5 to 8 timers for each insertion of the window x = 2 divides false positives by 27 to 144 and
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

// A tick modulo kTimerCycle, plus 1; 0 means never.
using Timer = std::uint16_t;
inline constexpr unsigned kTimerCycle = 65535;

// The event that makes a tick.
enum class TimerClock : std::uint8_t { kGenerations, kInsertions };

struct SlicedTimersSpec {
    SliceGeometry geometry{};  // cells are timers
    unsigned w = 0;            // ticks of the window
    unsigned x = 1;            // number of timers that must be equal
    TimerClock clock = TimerClock::kGenerations;
    EchoPolicy policy = EchoPolicy::kFixed;
    FailedCells failed = FailedCells::kSet;
    unsigned live = 0;  // for FailedCells::kAtLeast: number of timers that must be reached
};

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
    // An expired timer looks young again kTimerCycle ticks after it was written. In the kTimerCycle
    // - w ticks between, every timer is visited once.
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
    // Memory of each slice; must be zeroed and aligned for Timer.
    [[nodiscard]] static std::size_t slice_bytes(const SlicedTimersParams& params) noexcept {
        return params.geometry().cells_per_slice() * sizeof(Timer);
    }

    // `slices` are S S' slices that the caller keeps for the filter's life.
    SlicedTimers(const SlicedTimersParams& params, std::span<Slice> slices) noexcept;

    // The timers of a digest that can be reached, how many of them are inside the window, and the
    // largest group of equal ones among those.
    struct Probe {
        unsigned live = 0;
        unsigned young = 0;
        unsigned equal = 0;
    };
    [[nodiscard]] Probe probe(Digest digest) const noexcept { return probe(map_.places(digest)); }

    void prefetch(Digest digest) const noexcept;
    bool test_and_insert(Digest digest) noexcept;
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept;
    // Move ticks forward to the moment's generation; nothing to do if insertions make the ticks.
    void advance(Moment moment) noexcept;
    void clear() noexcept;

    // The two halves of test_and_insert(), without a policy. Each sends messages.
    bool query(Digest digest) noexcept;
    void insert(Digest digest) noexcept;

    // A failed slice is neither read, written nor scanned. The reachable timers decide, as if the
    // failed ones agreed with them. A restored slice is empty: its timers may have wrapped.
    void fail(unsigned slice) noexcept { slices_[slice].failed = true; }
    void restore(unsigned slice) noexcept;

    [[nodiscard]] const SlicedTimersParams& params() const noexcept { return params_; }
    [[nodiscard]] std::span<const Slice> slices() const noexcept { return slices_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }
    // Messages to slices, by all operations.
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
