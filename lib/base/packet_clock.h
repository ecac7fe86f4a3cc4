// SPDX-License-Identifier: BSD-3-Clause
// PacketClock: filter time from the packets' own timestamps. Timestamps step: back a little where
// several queues or taps are mixed, and far where a clock is set or a stamp is wrong.
//
// Let J = max(window, 1 s). A packet up to J behind the latest one is treated as if it arrived with
// it, so no age is negative. A packet more than J behind begins an epoch: time continues from its
// stamp, and remembered packets do not age by the step. So one stamp far in the future does not
// stop the clock for all later packets. Packets that a step forward aged stay that old.
//
// Filter time is the sum of all forward steps. It never steps back, so filters need not know of
// epochs: a new epoch continues at the present filter time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/units.h"

namespace unecho {

inline constexpr Nanoseconds kNoEpochs = std::numeric_limits<Nanoseconds>::max();

// Return J. A window without end has no epochs, because nothing in it can be too old.
[[nodiscard]] constexpr Nanoseconds epoch_jump(Nanoseconds window) noexcept {
    return std::max(window, kSecond);
}

class PacketClock {
  public:
    PacketClock() = default;  // without epochs

    // Begin an epoch at a step back of more than `jump`; kNoEpochs: never. Forward steps longer
    // than most_step count as most_step, which must exceed what any filter remembers. So stamps
    // that alternate between 1970 and today do not exhaust 64 bits.
    explicit PacketClock(Nanoseconds jump, Nanoseconds most_step = kNoEpochs) noexcept
        : jump_(jump), most_step_(most_step) {}

    // No filter remembers 128 windows: it would need as many segments for each generation.
    static PacketClock for_window(Nanoseconds window) noexcept {
        const Nanoseconds jump = epoch_jump(window);
        return PacketClock(jump, jump > kNoEpochs / kMaxJumps ? kNoEpochs : kMaxJumps * jump);
    }

    // Return the filter time of the packet with this timestamp.
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

    // Filter times of the first and of the last packet.
    [[nodiscard]] Nanoseconds start() const noexcept { return start_; }
    [[nodiscard]] Nanoseconds now() const noexcept { return now_; }
    // Number of epochs that began with a step back, and the length of the last such step.
    [[nodiscard]] std::uint64_t epochs() const noexcept { return epochs_; }
    [[nodiscard]] Nanoseconds last_step() const noexcept { return last_step_; }
    // Sum of all forward steps since the first packet, without the limit on their length.
    [[nodiscard]] Nanoseconds elapsed() const noexcept { return elapsed_; }

  private:
    static constexpr Nanoseconds kMaxJumps = 128;
    // The year 2116; it leaves three quarters of the range for later stamps.
    static constexpr Nanoseconds kLatestStart = Nanoseconds{1} << 62U;

    static Nanoseconds sum(Nanoseconds a, Nanoseconds b) noexcept {
        const Nanoseconds most = std::numeric_limits<Nanoseconds>::max();
        return b > most - a ? most : a + b;
    }

    Nanoseconds jump_ = kNoEpochs;
    Nanoseconds most_step_ = kNoEpochs;
    bool started_ = false;
    Nanoseconds latest_ = 0;  // latest stamp of this epoch
    Nanoseconds start_ = 0;
    Nanoseconds now_ = 0;
    Nanoseconds elapsed_ = 0;
    Nanoseconds last_step_ = 0;
    std::uint64_t epochs_ = 0;
};

}  // namespace unecho
