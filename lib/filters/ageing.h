// SPDX-License-Identifier: BSD-3-Clause
// Ageing: decides when the generations of one filter turn, on one worker. Turns are published for
// all workers: by the control thread, or for captures by the packet times alone. A worker's own
// generation is the number of published turns that it adopted, plus its early turns. A generation
// ends when it has lasted `length` or holds its load, whichever comes first, counted from its own
// start. Above the planned rate the window therefore shrinks, and the filter never holds more than
// it was sized for (docs/decisions/0002-generations.md).
//
// A worker adopts a published turn once its present generation has lasted `length`. After an early
// turn, a published turn waits until then. Two properties follow, whatever is published:
//  (a) a generation ends at least `length` after its start, unless it ends early;
//  (b) nothing is inserted into a generation after the next one has started.
// So if no turn in between was early, a digest of generation j is remembered for at least
// retained_generations * length. At any moment, the filter remembers everything inserted after the
// end of the newest forgotten generation (AchievedWindow).
//
// Live traffic and captures use the same class. It holds plain values only. A copy in memory that
// outlives the process can be resumed with the same clock if is_consistent().
//
// Hot. May not: allocate, read a clock.
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
inline constexpr unsigned kMaxRetainedGenerations = 127;  // k + l <= 128

struct AgeingSpec {
    Nanoseconds window = 0;
    Nanoseconds length = 1;             // of a generation; of a tick for line filters
    unsigned retained_generations = 0;  // later generations through which a digest is remembered
    std::uint64_t load = kNoLoad;       // of a generation, in the filter's load() units; at least 1
    bool may_clear = false;  // an early turn may clear a segment inline if none is zeroed

    bool operator==(const AgeingSpec&) const = default;
};

// A published time and the number of turns until then. Ageing converts it to the Moment to which
// the filter advances.
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

    // Return the snapshot at `time` for captures, where every multiple of the length is a turn.
    [[nodiscard]] TimerSnapshot published_at(Nanoseconds time) const noexcept {
        return {time, time / spec_.length};
    }

    // Return the moment to advance the filter to. A time before the last one is taken as the last
    // one. load: insertions of the present generation; used by fill() only.
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
    [[nodiscard]] bool has_pending_turn(std::uint64_t published) const noexcept {
        return published > taken_;
    }

    // Return how many insertions the present generation can still take.
    [[nodiscard]] std::uint64_t room(std::uint64_t load) const noexcept {
        return spec_.load > load ? spec_.load - load : 0;
    }
    [[nodiscard]] bool may_clear() const noexcept { return spec_.may_clear; }

    // End the present generation at the last time reached. Pending published turns become void.
    [[nodiscard]] Moment turn_early(std::uint64_t load = 0) noexcept {
        write_guard_.begin();
        start_ = last_;
        taken_ = published_;
        ++early_turns_;
        pass(1, last_, load);  // planted: early-turn-unreported(++generation_;)
        write_guard_.end();
        return {last_, generation_};
    }
    // Report that insertions before generation `before` (at least 1) may be lost. The achieved
    // window shrinks as if everything up to the end of generation before - 1 were forgotten.
    void record_loss(std::uint64_t before) noexcept {
        if (before + spec_.retained_generations > generation_) {  // otherwise forgotten anyway
            // planted: loss-dated-a-generation-back
            kept_.forget(before > generation_ ? last_ : ends_[(before - 1) % kEnds], last_);
        }
    }
    // Count, once per generation, that the generation is full but cannot end.
    void hold() noexcept {
        held_turns_ += held_ ? 0 : 1;
        held_ = true;
    }

    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
    [[nodiscard]] Nanoseconds time() const noexcept { return last_; }
    [[nodiscard]] unsigned retained_generations() const noexcept {
        return spec_.retained_generations;
    }
    [[nodiscard]] std::uint64_t early_turns() const noexcept { return early_turns_; }
    // Return the largest load of the remembered generations. `load`: that of the present one.
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

    // Return true if this state belongs to `spec` and was not interrupted during a turn.
    [[nodiscard]] bool is_consistent(const AgeingSpec& spec) const noexcept {
        return spec_ == spec && !write_guard_.is_interrupted();
    }
    // Restart the counters and the achieved window, for a process that resumes this state.
    void begin_report() noexcept {
        kept_.begin_report();
        early_turns_ = held_turns_ = 0;
    }
    // Return how many published turns would have been due by `now` if a timer had published them.
    [[nodiscard]] std::uint64_t turns_due(Nanoseconds now) const noexcept {
        return taken_ + (std::max(now, start_) - start_) / spec_.length;
    }

  private:
    static constexpr unsigned kEnds = kMaxRetainedGenerations + 1;

    // Adopt the published turns whose generations have lasted `length`. The first new generation
    // starts when the present one had lasted that long, or at its last moment if that was later.
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

    // Skipped generations are empty: they end together with the present one.
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
    Nanoseconds last_ = 0;         // last time reached
    std::uint64_t published_ = 0;  // turns published so far
    std::uint64_t taken_ = 0;      // published turns that were adopted or are void
    std::uint64_t early_turns_ = 0;
    std::uint64_t held_turns_ = 0;
    bool held_ = false;  // the present generation is counted in held_turns_
    WriteGuard write_guard_;
    AchievedWindow kept_;
    std::array<Nanoseconds, kEnds> ends_{};     // ends of the last generations, by number
    std::array<std::uint64_t, kEnds> loads_{};  // their loads
};
static_assert(std::is_trivially_copyable_v<Ageing>);

}  // namespace unecho::filter
