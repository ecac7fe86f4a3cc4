// SPDX-License-Identifier: BSD-3-Clause
// What the control thread sees of the workers without asking them: whether they poll, and whether
// nothing has come for long. A worker that does not run looks like one that finds nothing; only
// time in which every worker looked for packets and had none counts as idle.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace unecho::control {

// As a worker publishes it after each poll.
struct Heartbeat {
    std::uint64_t polls = 0;
    std::uint64_t busy = 0;  // of them those that took packets
};

class WorkerLiveness {
  public:
    // A worker that has not polled for so long is absent, unless told otherwise.
    static constexpr Nanoseconds kAbsence = kSecond;
    // Between two looks no more than this counts: who looks may have stood still as well, as all of
    // a process does that is stopped.
    static constexpr Nanoseconds kMaxBetweenLooks = 250 * kMillisecond;

    struct Change {
        std::size_t worker;
        bool absent;  // else it is back
    };

    // Looks are meant to be so far apart; of a longer time between two that are credited, no more
    // counts as idle.
    WorkerLiveness(std::size_t workers, Nanoseconds poll_interval, Nanoseconds now,
                   Nanoseconds absence = kAbsence);

    // One beat a worker. Who has become absent since the last look, or came back.
    std::vector<Change> sample(std::span<const Heartbeat> beats, Nanoseconds now);

    // Of the worker that has not polled for longest.
    [[nodiscard]] Nanoseconds longest_standstill() const;
    [[nodiscard]] Nanoseconds standstill(std::size_t worker) const {
        return workers_[worker].standstill;
    }

    // For how long nothing has come, as far as it was looked for. A look is credited once every
    // worker has polled since the one that was credited before, however many looks that takes: on a
    // busy machine workers rarely run between the same two looks.
    [[nodiscard]] Nanoseconds idle() const { return idle_; }

  private:
    struct Seen {
        Heartbeat beat;
        std::uint64_t credited_polls = 0;  // at the last look that was credited
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

}  // namespace unecho::control
