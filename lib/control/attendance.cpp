// SPDX-License-Identifier: BSD-3-Clause
#include "control/attendance.h"

#include <algorithm>

namespace unecho::control {
namespace {

// The first of two polls may have begun before the last look; the second one lies behind it.
constexpr std::uint64_t kWholePoll = 2;

}  // namespace

Attendance::Attendance(std::size_t workers, Nanoseconds between_looks, Nanoseconds now)
    : workers_(workers, Seen{{}, now}), between_looks_(between_looks), last_look_(now) {}

std::vector<Attendance::Change> Attendance::look(std::span<const Beat> beats, Nanoseconds now) {
    std::vector<Change> changes;
    bool all_looked = true;
    bool busy = false;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        Seen& seen = workers_[i];
        const std::uint64_t polls = beats[i].polls - seen.beat.polls;
        busy |= beats[i].busy != seen.beat.busy;
        all_looked &= polls >= kWholePoll;
        if (polls != 0) {
            seen.polled = now;
        }
        const bool absent = now - seen.polled >= kAbsence;
        if (absent != seen.absent) {
            seen.absent = absent;
            changes.push_back({i, absent});
        }
        seen.beat = beats[i];
    }
    if (busy) {
        idle_ = 0;
    } else if (all_looked) {
        idle_ += std::min(now - last_look_, between_looks_);
    }
    last_look_ = now;
    return changes;
}

}  // namespace unecho::control
