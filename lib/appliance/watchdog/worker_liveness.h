// SPDX-License-Identifier: BSD-3-Clause
// Supervises workers by their heartbeats, without waiting for them: whether each polls, and for how
// long no packet came. A worker that does not run looks like one that receives nothing. So only
// time in which every worker polled and found no packet is counted as idle.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace unecho::appliance {

// Published by a worker after each poll.
struct Heartbeat {
    std::uint64_t polls = 0;
    std::uint64_t busy = 0;  // polls that took packets
};

class WorkerLiveness {
  public:
    // A worker that has not polled for this long is absent by default.
    static constexpr Nanoseconds kAbsence = kSecond;
    // At most this much of the time between two samples is counted as standstill: the sampling
    // thread may have stood still too, as when the process is stopped.
    static constexpr Nanoseconds kMaxBetweenLooks = 250 * kMillisecond;

    struct Change {
        std::size_t worker;
        bool absent;  // false: it is back
    };

    // poll_interval: expected time between samples. A longer time between two credited samples adds
    // only this much to idle().
    WorkerLiveness(std::size_t workers, Nanoseconds poll_interval, Nanoseconds now,
                   Nanoseconds absence = kAbsence);

    // beats: one per worker. Return which workers became absent since the last sample, or came
    // back.
    std::vector<Change> sample(std::span<const Heartbeat> beats, Nanoseconds now);

    [[nodiscard]] Nanoseconds longest_standstill() const;
    [[nodiscard]] Nanoseconds standstill(std::size_t worker) const {
        return workers_[worker].standstill;
    }

    // Return for how long no packet came. A sample is credited once every worker has polled since
    // the last credited one. That may take several samples, because on a busy machine not every
    // worker runs between two of them.
    [[nodiscard]] Nanoseconds idle() const { return idle_; }

  private:
    struct Seen {
        Heartbeat beat;
        std::uint64_t credited_polls = 0;  // at the last credited sample
        Nanoseconds standstill = 0;
        bool absent = false;
    };
    std::vector<Seen> workers_;
    Nanoseconds between_looks_;
    Nanoseconds absence_;
    Nanoseconds last_look_;
    Nanoseconds last_credit_;
    Nanoseconds idle_ = 0;
};

}  // namespace unecho::appliance
