// SPDX-License-Identifier: BSD-3-Clause
// The time that a worker judges by, which stands still while the worker was away.
//
// Age is judged when a packet is processed. A worker that was away - descheduled, or busy with
// something else - comes back to packets that have waited; judged by the clock, a copy among them
// would be older by up to the whole gap, and its original perhaps forgotten. So at a gap above a
// limit the worker's time stands where the clock was last read, for all that waits: until a poll
// finds less than a burst in every queue and ring, or so many polls are over that each has given as
// many packets as it can hold. Then time goes on from where it stood. What was filed meanwhile came
// before that; hence nothing is ever taken for older than it is. The price: what was filed before
// or during the pause is remembered for as much longer as the pause took (`late`).
//
// A pause in which no packet came leaves no trace. Limits of it: time goes on for `limit` at least
// between two pauses, or a worker that is always away would never forget; a gap in between counts
// as time. And what waited in the queue of another worker that was away, and came by a ring from
// there, is judged by the time of this one.
#pragma once

#include <array>
#include <cstdint>

#include "base/ids.h"
#include "base/units.h"

namespace unecho::dataplane {

struct StallTolerantClockSpec {
    Nanoseconds limit = ~Nanoseconds{0};   // gaps above it stop the time
    Nanoseconds window = ~Nanoseconds{0};  // gaps above it are counted
    unsigned polls = 1;                    // in which any queue or ring gives all it can hold
};

class StallTolerantClock {
  public:
    StallTolerantClock() = default;
    explicit StallTolerantClock(const StallTolerantClockSpec& spec) noexcept : spec_(spec) {}

    // The limit for a window: what is judged late by less than this, an eighth of the window or a
    // millisecond, stays judged by the clock.
    static constexpr Nanoseconds limit_for(Nanoseconds window) noexcept {
        const Nanoseconds eighth = window / 8;
        return eighth > kMillisecond ? eighth : window < kMillisecond ? window : kMillisecond;
    }

    // Nothing before this is a gap.
    void begin(Nanoseconds now) noexcept { last_ = now; }

    // The clock has been read before a round over all queues and rings.
    void begin_poll(Nanoseconds now) noexcept {
        if (drained_) [[unlikely]] {
            resume();
        }
        read(now);
        whole_poll_ = true;
    }
    // The round took so many packets; emptied: less than a burst from each.
    void end_poll(unsigned taken, bool emptied) noexcept {
        if (paused_) [[unlikely]] {
            packets_ |= taken != 0;
            if (whole_poll_) {
                --polls_left_;
                drained_ = emptied || polls_left_ == 0;
            }
        }
    }

    // The clock has been read: the worker's time. Never decreases.
    Nanoseconds at(Nanoseconds now) noexcept {
        read(now);
        return time();
    }
    // The time where the clock was last read.
    [[nodiscard]] Nanoseconds time() const noexcept { return paused_ ? held_ : last_ - behind_; }
    // The turns that a filter's timer has published, as the worker's time has them. Read after the
    // clock.
    std::uint64_t turns(unsigned filter, std::uint64_t published) noexcept {
        if (paused_ || (resumed_ >> filter & 1) != 0) [[unlikely]] {
            return stopped_turns(filter, published);
        }
        return turns_[filter] = published - skipped_[filter];
    }

    // Other filters: the pauses that count, from the next one on.
    void apply_config(const StallTolerantClockSpec& spec) noexcept { spec_ = spec; }
    // What is known of a filter's turns, of which another one may go on with it.
    struct Turns {
        std::uint64_t given = 0;
        std::uint64_t skipped = 0;
        bool resumed = false;
    };
    [[nodiscard]] Turns turns_of(unsigned filter) const noexcept {
        return {turns_[filter], skipped_[filter], (resumed_ >> filter & 1) != 0};
    }
    void set_turns(unsigned filter, const Turns& turns) noexcept {
        turns_[filter] = turns.given;
        skipped_[filter] = turns.skipped;
        resumed_ &= ~(std::uint64_t{1} << filter);
        resumed_ |= std::uint64_t{turns.resumed} << filter;
    }

    // Whether something is remembered longer for a pause, by a filter that remembers for this long.
    [[nodiscard]] bool late(Nanoseconds remembered) const noexcept {
        return paused_ || (behind_ != 0 && time() - resumed_at_ < remembered);
    }
    [[nodiscard]] Nanoseconds longest_gap() const noexcept { return longest_; }
    [[nodiscard]] std::uint64_t gaps() const noexcept { return gaps_; }  // above the window
    // Gaps above the limit that count as time, for want of time since the last one; the latest.
    [[nodiscard]] std::uint64_t counted() const noexcept { return counted_; }
    [[nodiscard]] Nanoseconds counted_gap() const noexcept { return counted_gap_; }
    // How far the worker's time is behind the clock.
    [[nodiscard]] Nanoseconds behind() const noexcept { return behind_; }

  private:
    void read(Nanoseconds now) noexcept {
        if (now < last_) [[unlikely]] {
            return;  // another CPU's counter, a little behind
        }
        const Nanoseconds gap = now - last_;
        if (gap > longest_) [[unlikely]] {
            longest_ = gap;
        }
        if (gap > spec_.limit) [[unlikely]] {
            pause(gap);
        }
        last_ = now;
    }

    void pause(Nanoseconds gap) noexcept {
        gaps_ += gap > spec_.window ? 1 : 0;
        if (!paused_ && behind_ != 0 && time() - resumed_at_ < spec_.limit) {
            ++counted_;
            counted_gap_ = gap;
            return;
        }
        if (!paused_) {
            held_ = time();
            paused_ = true;  // planted: stalled-time-runs-on
            packets_ = false;
            renewals_ = kRenewals;
            polls_left_ = spec_.polls;
        } else if (renewals_ != 0) {
            --renewals_;
            polls_left_ = spec_.polls;
        }
        whole_poll_ = false;
    }

    // Where the clock was last read: after the last packet was received.
    void resume() noexcept {
        paused_ = drained_ = false;
        if (packets_) {
            behind_ = last_ - held_;  // planted: stalled-time-jumps-back
            resumed_at_ = held_;
            resumed_ = ~std::uint64_t{0};
        }
    }

    // While time stands, those of before; the first ones after it count as those.
    std::uint64_t stopped_turns(unsigned filter, std::uint64_t published) noexcept {
        if (!paused_) {
            skipped_[filter] = published - turns_[filter];
            resumed_ &= ~(std::uint64_t{1} << filter);
        }
        return turns_[filter];
    }

    static_assert(kMaxFilters <= 64);
    // Gaps amid a pause for which it is prolonged.
    static constexpr unsigned kRenewals = 3;

    StallTolerantClockSpec spec_;
    Nanoseconds last_ = 0;    // reading of the clock
    Nanoseconds behind_ = 0;  // of the clock
    bool paused_ = false;
    bool whole_poll_ = false;  // the present poll began after the gap
    bool drained_ = false;     // nothing waits any more that did
    bool packets_ = false;     // some came while paused
    unsigned polls_left_ = 0;
    unsigned renewals_ = 0;
    Nanoseconds held_ = 0;        // the worker's time while paused
    Nanoseconds resumed_at_ = 0;  // the worker's time when it went on last
    std::uint64_t resumed_ = 0;   // by filter: its turns have not been read since
    std::array<std::uint64_t, kMaxFilters> turns_{};    // as given last
    std::array<std::uint64_t, kMaxFilters> skipped_{};  // published while paused
    Nanoseconds longest_ = 0;
    std::uint64_t gaps_ = 0;
    std::uint64_t counted_ = 0;
    Nanoseconds counted_gap_ = 0;
};

}  // namespace unecho::dataplane
