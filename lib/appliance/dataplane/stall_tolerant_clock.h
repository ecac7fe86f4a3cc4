// SPDX-License-Identifier: BSD-3-Clause
// A worker's clock that stands still while the worker was away.
//
// A filter decides by the time at which a packet is processed. A worker that was descheduled, or
// busy with something else, comes back to packets that have waited. By the real clock, a duplicate
// among them would appear older by up to the whole gap, and its original might be forgotten
// already.
//
// So after a gap above a limit, the worker's time stands at the last reading of the clock. It
// continues once a poll finds less than a burst in every queue and ring, or after as many polls as
// empty the longest of them. Everything inserted meanwhile arrived before that. Hence no packet is
// ever taken for older than it is. The price: what was inserted before or during the pause is
// remembered for longer by the length of the pause (`late`).
//
// A pause in which no packet came leaves no trace. Limits: between two pauses time advances by at
// least `limit`, or a worker that is always away would never forget; a gap in between is counted as
// time. Packets from the queue of another absent worker, by way of a ring, get the time of this
// worker.
#pragma once

#include <array>
#include <cstdint>

#include "base/ids.h"
#include "base/units.h"

namespace unecho::dataplane {

struct StallTolerantClockSpec {
    Nanoseconds limit = ~Nanoseconds{0};   // longer gaps stop the time
    Nanoseconds window = ~Nanoseconds{0};  // longer gaps are counted
    unsigned polls = 1;                    // in which any queue or ring returns all it can hold
};

class StallTolerantClock {
  public:
    StallTolerantClock() = default;
    explicit StallTolerantClock(const StallTolerantClockSpec& spec) noexcept : spec_(spec) {}

    // Return the limit for a window: an eighth of it, but at least 1 ms or, if that is less, the
    // whole window. Shorter gaps do not stop the time.
    static constexpr Nanoseconds limit_for(Nanoseconds window) noexcept {
        const Nanoseconds eighth = window / 8;
        return eighth > kMillisecond ? eighth : window < kMillisecond ? window : kMillisecond;
    }

    // Start the clock: time before this is no gap.
    void begin(Nanoseconds now) noexcept { last_ = now; }

    // Take a reading of the clock from before a round over all queues and rings.
    void begin_poll(Nanoseconds now) noexcept {
        if (drained_) [[unlikely]] {
            resume();
        }
        read(now);
        whole_poll_ = true;
    }
    // End a round. taken: its packets; emptied: each queue and ring returned less than a burst.
    void end_poll(unsigned taken, bool emptied) noexcept {
        if (paused_) [[unlikely]] {
            packets_ |= taken != 0;
            if (whole_poll_) {
                --polls_left_;
                drained_ = emptied || polls_left_ == 0;
            }
        }
    }

    // Take a reading of the clock and return the worker's time, which never decreases.
    Nanoseconds at(Nanoseconds now) noexcept {
        read(now);
        return time();
    }
    // Return the worker's time at the last reading of the clock.
    [[nodiscard]] Nanoseconds time() const noexcept { return paused_ ? held_ : last_ - behind_; }
    // Return the turns that a filter's timer has published, without those published in pauses.
    // `published` must be read after the clock.
    std::uint64_t turns(unsigned filter, std::uint64_t published) noexcept {
        if (paused_ || (resumed_ >> filter & 1) != 0) [[unlikely]] {
            return stopped_turns(filter, published);
        }
        return turns_[filter] = published - skipped_[filter];
    }

    // Use other limits, from the next pause on.
    void apply_config(const StallTolerantClockSpec& spec) noexcept { spec_ = spec; }
    // A filter's turns. They move with the filter if its index changes.
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

    // Return true if a filter that remembers for this long remembers something longer because of a
    // pause.
    [[nodiscard]] bool late(Nanoseconds remembered) const noexcept {
        return paused_ || (behind_ != 0 && time() - resumed_at_ < remembered);
    }
    [[nodiscard]] Nanoseconds longest_gap() const noexcept { return longest_; }
    [[nodiscard]] std::uint64_t gaps() const noexcept { return gaps_; }  // longer than the window
    // Gaps above the limit that were counted as time, because the last pause was too recent; the
    // latest one.
    [[nodiscard]] std::uint64_t counted() const noexcept { return counted_; }
    [[nodiscard]] Nanoseconds counted_gap() const noexcept { return counted_gap_; }
    // Return how far the worker's time is behind the clock.
    [[nodiscard]] Nanoseconds behind() const noexcept { return behind_; }

  private:
    void read(Nanoseconds now) noexcept {
        if (now < last_) [[unlikely]] {
            return;  // the counter of another CPU, a little behind
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

    // The worker's time falls behind up to the last reading, which came after the last packet was
    // received.
    void resume() noexcept {
        paused_ = drained_ = false;
        if (packets_) {
            behind_ = last_ - held_;  // planted: stalled-time-jumps-back
            resumed_at_ = held_;
            resumed_ = ~std::uint64_t{0};
        }
    }

    // In a pause, return the turns from before it. The first reading after the pause still returns
    // these: turns published in between are skipped.
    std::uint64_t stopped_turns(unsigned filter, std::uint64_t published) noexcept {
        if (!paused_) {
            skipped_[filter] = published - turns_[filter];
            resumed_ &= ~(std::uint64_t{1} << filter);
        }
        return turns_[filter];
    }

    static_assert(kMaxFilters <= 64);
    // Gaps within a pause that prolong it, at most.
    static constexpr unsigned kRenewals = 3;

    StallTolerantClockSpec spec_;
    Nanoseconds last_ = 0;    // last reading of the clock
    Nanoseconds behind_ = 0;  // the clock, through pauses
    bool paused_ = false;
    bool whole_poll_ = false;  // the present poll began after the gap
    bool drained_ = false;     // no packet of the pause waits any more
    bool packets_ = false;     // some came in the pause
    unsigned polls_left_ = 0;
    unsigned renewals_ = 0;
    Nanoseconds held_ = 0;        // the worker's time in the pause
    Nanoseconds resumed_at_ = 0;  // the worker's time at the end of the last pause
    std::uint64_t resumed_ = 0;   // by filter: its turns have not been read since
    std::array<std::uint64_t, kMaxFilters> turns_{};    // as returned last
    std::array<std::uint64_t, kMaxFilters> skipped_{};  // published in pauses
    Nanoseconds longest_ = 0;
    std::uint64_t gaps_ = 0;
    std::uint64_t counted_ = 0;
    Nanoseconds counted_gap_ = 0;
};

}  // namespace unecho::dataplane
