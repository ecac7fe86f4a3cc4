// SPDX-License-Identifier: BSD-3-Clause
// When the generations of one filter turn, on one worker. A turn is published for all workers (by
// the control thread; for captures by the time alone), and a worker's own generation is the
// published one plus its early turns: a generation lasts its length or its load, whichever ends
// first, counted from its own start. So above the planned rate the window shrinks, and the filter
// never holds more than it was sized for (docs/decisions/0002-generations.md).
//
// A published turn is adopted once the present generation has had its length; one that an early
// turn made untimely waits until then. From this alone, whatever is published:
//  (a) generations end no sooner than `length` after their start, but for early turns;
//  (b) no digest of a generation is inserted after the next one's start.
// Hence what was inserted in generation j is remembered for through * length at least when no turn
// between was early; and at any moment all that was inserted after the end of the newest generation
// forgotten (AchievedWindow).
//
// The same object serves the worker's clock and the times of captures. It is all values: one in
// memory that outlives the process can be gone on with by the same clock, if it is_consistent().
//
// Hot; may not: allocate, look at the time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "base/assert.h"
#include "base/units.h"
#include "filters/achieved_window.h"
#include "filters/filter.h"
#include "filters/storage.h"

namespace unecho::filter {

inline constexpr std::uint64_t kNoLoad = ~std::uint64_t{0};
inline constexpr unsigned kMaxRetainedGenerations = 127;  // k + l of segments are at most 128

struct AgeingSpec {
    Nanoseconds window = 0;
    Nanoseconds length = 1;  // of a generation; for line filters of a tick
    unsigned retained_generations =
        0;                         // generations after its own that a digest is remembered through
    std::uint64_t load = kNoLoad;  // of a generation, as the filter's load() counts; at least 1
    bool may_clear = false;        // an early turn may clear a segment itself, where none is zeroed

    bool operator==(const AgeingSpec&) const = default;
};

// When something is asked: the time, and the turns that were published by then. Which generation of
// the filter that is, its Ageing says: the Moment that the filter advances to.
struct TimerSnapshot {
    Nanoseconds now = 0;
    std::uint64_t turns = 0;
};

class Ageing {
  public:
    explicit Ageing(const AgeingSpec& spec) noexcept : spec_(spec), kept_(spec.window) {
        UNECHO_ASSERT(spec.length >= 1 && spec.load >= 1 &&
                      spec.retained_generations <= kMaxRetainedGenerations);
    }

    // The turns published by a time, where nobody publishes them.
    [[nodiscard]] TimerSnapshot published_at(Nanoseconds time) const noexcept {
        return {time, time / spec_.length};
    }

    // What the filter advances to. A time before the last one counts as that. load: what the
    // present generation holds; for fill() alone.
    [[nodiscard]] Moment advance_to(TimerSnapshot published, std::uint64_t load = 0) noexcept {
        const Nanoseconds now = std::max(published.now, last_);
        // planted: turn-adopted-late, turn-adopted-too-soon
        if (published.turns > taken_ && now - start_ >= spec_.length) [[unlikely]] {
            turn(published.turns, now, load);
        }
        published_ = published.turns;
        last_ = now;
        return {now, generation_};
    }
    // A published turn waits to be adopted.
    [[nodiscard]] bool has_pending_turn(std::uint64_t published) const noexcept {
        return published > taken_;
    }

    // What the present generation may still take, given what it holds.
    [[nodiscard]] std::uint64_t room(std::uint64_t load) const noexcept {
        return spec_.load > load ? spec_.load - load : 0;
    }
    [[nodiscard]] bool may_clear() const noexcept { return spec_.may_clear; }

    // The present generation ends at the moment reached last. Turns published meanwhile are void.
    [[nodiscard]] Moment turn_early(std::uint64_t load = 0) noexcept {
        write_guard_.begin();
        start_ = last_;
        taken_ = published_;
        ++early_turns_;
        pass(1, last_, load);  // planted: early-turn-unreported(++generation_;)
        write_guard_.end();
        return {last_, generation_};
    }
    // Of what it inserted before this generation, not before 1, the filter may have lost some: as
    // if all that was there at the end of the one before had been forgotten.
    void record_loss(std::uint64_t before) noexcept {
        if (before + spec_.retained_generations > generation_) {  // else it is forgotten anyway
            // planted: loss-dated-a-generation-back
            kept_.forget(before > generation_ ? last_ : ends_[(before - 1) % kEnds], last_);
        }
    }
    // It would have to end, and cannot.
    void hold() noexcept {
        held_turns_ += held_ ? 0 : 1;
        held_ = true;
    }

    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
    // Reached last.
    [[nodiscard]] Nanoseconds time() const noexcept { return last_; }
    [[nodiscard]] unsigned retained_generations() const noexcept {
        return spec_.retained_generations;
    }
    [[nodiscard]] std::uint64_t early_turns() const noexcept { return early_turns_; }
    // What the fullest of the generations that are remembered took, the present one, which holds so
    // much, included.
    [[nodiscard]] std::uint64_t fill(std::uint64_t load) const noexcept {
        const std::uint64_t whole =
            std::min<std::uint64_t>(generation_, spec_.retained_generations);
        for (std::uint64_t i = 1; i <= whole; ++i) {
            load = std::max(load, loads_[(generation_ - i) % kEnds]);
        }
        return load;
    }
    [[nodiscard]] WindowState state(Nanoseconds now) const noexcept {
        return {kept_.at(std::max(now, last_)), kept_.shortest(), kept_.shortest_at(), early_turns_,
                held_turns_};
    }

    // By this spec, and cut off nowhere amid a turn.
    [[nodiscard]] bool is_consistent(const AgeingSpec& spec) const noexcept {
        return spec_ == spec && !write_guard_.torn();
    }
    // Of another process from now on, whose reports are its own.
    void begin_report() noexcept {
        kept_.begin_report();
        early_turns_ = held_turns_ = 0;
    }
    // The published turns by which this would have had all turns that are due, if it were asked.
    [[nodiscard]] std::uint64_t turns_due(Nanoseconds now) const noexcept {
        return taken_ + (std::max(now, start_) - start_) / spec_.length;
    }

  private:
    static constexpr unsigned kEnds = kMaxRetainedGenerations + 1;

    // Those published turns whose generations have had their length. The first new one begins where
    // the present one had its, or with the last moment in it if that came later.
    void turn(std::uint64_t published, Nanoseconds now, std::uint64_t load) noexcept {
        const Nanoseconds first = std::max(start_ + spec_.length, last_);
        // planted: turns-adopted-all-at-once
        const std::uint64_t turns = std::min(published - taken_, 1 + (now - first) / spec_.length);
        write_guard_.begin();
        start_ = first + (turns - 1) * spec_.length;
        taken_ += turns;
        pass(turns, now, load);
        write_guard_.end();
    }

    // Generations that are skipped are empty: they end with the present one.
    void pass(std::uint64_t turns, Nanoseconds now, std::uint64_t load) noexcept {
        for (std::uint64_t i = 0; i < std::min<std::uint64_t>(turns, kEnds); ++i) {
            ends_[(generation_ + i) % kEnds] = last_;
            loads_[(generation_ + i) % kEnds] = i == 0 ? load : 0;
        }
        generation_ += turns;  // planted: rare-double-turn
        held_ = false;
        if (generation_ > spec_.retained_generations) {  // planted: rare-unreported-forgetting
            // planted: kept-window-a-generation-off
            kept_.forget(ends_[(generation_ - spec_.retained_generations - 1) % kEnds], now);
        }
    }

    AgeingSpec spec_;
    std::uint64_t generation_ = 0;
    Nanoseconds start_ = 0;        // of the present generation
    Nanoseconds last_ = 0;         // the time reached last
    std::uint64_t published_ = 0;  // turns, there
    std::uint64_t taken_ = 0;      // published turns that were adopted, or are void
    std::uint64_t early_turns_ = 0;
    std::uint64_t held_turns_ = 0;
    bool held_ = false;  // in the present generation
    WriteGuard write_guard_;
    AchievedWindow kept_;
    std::array<Nanoseconds, kEnds> ends_{};     // of the last generations, by number
    std::array<std::uint64_t, kEnds> loads_{};  // what they took
};
static_assert(std::is_trivially_copyable_v<Ageing>);

}  // namespace unecho::filter
