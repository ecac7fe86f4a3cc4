// SPDX-License-Identifier: BSD-3-Clause
// Filters' time from packets' own timestamps, which step: back a little where several queues or
// taps are mixed, far where a clock is set or a stamp is wrong.
//
// With J = max(window, 1 s): a packet up to J behind the latest counts as if it came at the latest,
// so that no age is negative. One more than J behind begins an epoch: time goes on from its stamp,
// and what is remembered ages by nothing for the step. So one stamp far ahead does not stop the
// clock for all packets behind it. What the step ahead itself made older than the window stays so.
//
// Time is the sum of the steps forward, so it never steps back and an epoch needs no change in what
// filters remember: a new epoch goes on at the time that it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/units.h"

namespace unecho {

inline constexpr Nanoseconds kNoEpochs = std::numeric_limits<Nanoseconds>::max();

// J. A window without end has no epochs: nothing in it can be old.
[[nodiscard]] constexpr Nanoseconds epoch_jump(Nanoseconds window) noexcept {
    return std::max(window, kSecond);
}

class PacketClock {
  public:
    PacketClock() = default;  // without epochs

    // kNoEpochs: none. most_step: steps forward that are longer count as this long, which must be
    // more than any filter remembers: stamps that go back and forth between 1970 and today do not
    // wear the 584 years of 64 bits out.
    explicit PacketClock(Nanoseconds jump, Nanoseconds most_step = kNoEpochs) noexcept
        : jump_(jump), most_step_(most_step) {}

    // No filter remembers for 128 windows: that would take as many segments for each generation.
    static PacketClock for_window(Nanoseconds window) noexcept {
        const Nanoseconds jump = epoch_jump(window);
        return PacketClock(jump, jump > kNoEpochs / kMaxJumps ? kNoEpochs : kMaxJumps * jump);
    }

    // Of the packet with this stamp.
    Nanoseconds at(Nanoseconds stamp) noexcept {
        if (!started_) [[unlikely]] {
            started_ = true;
            start_ = now_ = std::min(stamp, kLatestStart);
            latest_ = stamp;
        } else if (stamp >= latest_) [[likely]] {
            const Nanoseconds step = stamp - latest_;
            latest_ = stamp;
            now_ = sum(now_, std::min(step, most_step_));
            elapsed_ = sum(elapsed_, step);
        } else if (latest_ - stamp > jump_) [[unlikely]] {
            last_step_ = latest_ - stamp;
            latest_ = stamp;
            ++epochs_;
        }
        return now_;
    }

    // Of the first packet and of the last.
    [[nodiscard]] Nanoseconds start() const noexcept { return start_; }
    [[nodiscard]] Nanoseconds now() const noexcept { return now_; }
    // That began with a step back; the last of these steps.
    [[nodiscard]] std::uint64_t epochs() const noexcept { return epochs_; }
    [[nodiscard]] Nanoseconds last_step() const noexcept { return last_step_; }
    // Since the first packet, in steps of any length.
    [[nodiscard]] Nanoseconds elapsed() const noexcept { return elapsed_; }

  private:
    static constexpr Nanoseconds kMaxJumps = 128;
    // The year 2116, leaving three quarters for what comes.
    static constexpr Nanoseconds kLatestStart = Nanoseconds{1} << 62U;

    static Nanoseconds sum(Nanoseconds a, Nanoseconds b) noexcept {
        const Nanoseconds most = std::numeric_limits<Nanoseconds>::max();
        return b > most - a ? most : a + b;
    }

    Nanoseconds jump_ = kNoEpochs;
    Nanoseconds most_step_ = kNoEpochs;
    bool started_ = false;
    Nanoseconds latest_ = 0;  // stamp of this epoch
    Nanoseconds start_ = 0;
    Nanoseconds now_ = 0;
    Nanoseconds elapsed_ = 0;
    Nanoseconds last_step_ = 0;
    std::uint64_t epochs_ = 0;
};

}  // namespace unecho
