// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/watchdog/worker_liveness.h"

#include <algorithm>

namespace unecho::appliance {
namespace {

// The first of two polls may have begun before the last credited sample, but the second began after
// it.
constexpr std::uint64_t kWholePoll = 2;

}  // namespace

WorkerLiveness::WorkerLiveness(std::size_t workers, Nanoseconds poll_interval, Nanoseconds now,
                               Nanoseconds absence)
    : workers_(workers),
      between_looks_(poll_interval),
      absence_(absence),
      last_look_(now),
      last_credit_(now) {}

Nanoseconds WorkerLiveness::longest_standstill() const {
    Nanoseconds longest = 0;
    for (const Seen& seen : workers_) {
        longest = std::max(longest, seen.standstill);
    }
    return longest;
}

std::vector<WorkerLiveness::Change> WorkerLiveness::sample(std::span<const Heartbeat> beats,
                                                           Nanoseconds now) {
    std::vector<Change> changes;
    bool all_looked = true;
    bool busy = false;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        Seen& seen = workers_[i];
        const std::uint64_t polls = beats[i].polls - seen.beat.polls;
        busy |= beats[i].busy != seen.beat.busy;
        all_looked &= beats[i].polls - seen.credited_polls >= kWholePoll;
        seen.standstill =
            polls != 0 ? 0 : seen.standstill + std::min(now - last_look_, kMaxBetweenLooks);
        const bool absent = seen.standstill >= absence_;
        if (absent != seen.absent) {
            seen.absent = absent;
            changes.push_back({i, absent});
        }
        seen.beat = beats[i];
    }
    last_look_ = now;
    if (busy || all_looked) {
        idle_ = busy ? 0 : idle_ + std::min(now - last_credit_, between_looks_);
        last_credit_ = now;
        for (Seen& seen : workers_) {
            seen.credited_polls = seen.beat.polls;
        }
    }
    return changes;
}

}  // namespace unecho::appliance
