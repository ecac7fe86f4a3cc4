// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/watchdog/stall_log.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace unecho::appliance {

using dataplane::Stage;
using dataplane::Stall;

void LossLog::sample(std::size_t port, Nanoseconds now, std::uint64_t lost) {
    std::deque<Sample>& looks = ports_[port].looks;
    looks.push_back({now, lost});
    if (looks.size() > kLooks) {
        looks.pop_front();
    }
}

std::uint64_t LossLog::take(std::size_t port, Nanoseconds begin) {
    Port& of = ports_[port];
    if (of.looks.empty()) {
        return 0;
    }
    const auto after = std::find_if(of.looks.begin(), of.looks.end(),
                                    [&](const Sample& sample) { return sample.time > begin; });
    const Sample& before = after == of.looks.begin() ? *after : *std::prev(after);
    const std::uint64_t from = std::max(before.lost, of.told);
    const std::uint64_t to = of.looks.back().lost;
    of.told = std::max(of.told, to);
    return to > from ? to - from : 0;  // some drivers restart their counters
}

namespace {

// Such as "held up for 300 ms in receive, 1024 packets queued then".
std::string words_of(const Stall& stall) {
    std::string text = "held up for " + format_duration(stall.took);
    if (stall.stage != Stage::kUnknown) {
        text.append(" in ").append(dataplane::kStageNames[static_cast<std::size_t>(stall.stage)]);
    }
    if (stall.queued_after != Stall::kUnknown) {
        text += fmt::format(", {} packets queued then", stall.queued_after);
    }
    return text;
}

}  // namespace

void StallLog::add(std::size_t worker, std::uint64_t unix_ns, std::uint64_t lost,
                   const Stall& stall) {
    {
        const std::lock_guard lock(mutex_);
        std::deque<StallRecord>& kept = kept_[worker];
        kept.push_back({++numbers_[worker], unix_ns, lost, stall});
        if (kept.size() > kKept) {
            kept.pop_front();
        }
    }
    if (waiting_ == 0 || stall.took > worst_.took) {
        worst_worker_ = worker;
        worst_ = stall;
    }
    ++waiting_;
    waiting_lost_ += lost;
}

std::optional<std::string> StallLog::line(Nanoseconds now) {
    if (waiting_ == 0 || now < next_) {
        return std::nullopt;
    }
    const bool quiet = pause_ == 0 || now - next_ >= kLongestPause;
    pause_ = quiet ? kShortestPause : std::min(2 * pause_, kLongestPause);
    next_ = now + pause_;
    std::string text = fmt::format("{} was {}", names_[worst_worker_], words_of(worst_));
    if (waiting_lost_ != 0) {
        text += "; " + format_count(waiting_lost_) + " packets were lost at its ports meanwhile";
    }
    if (waiting_ > 1) {
        text += "; with it " + format_count(waiting_ - 1) + " shorter ones since the last line";
    }
    waiting_ = waiting_lost_ = 0;
    return text;
}

std::vector<StallRecord> StallLog::of(std::size_t worker) const {
    const std::lock_guard lock(mutex_);
    return {kept_[worker].begin(), kept_[worker].end()};
}

}  // namespace unecho::appliance
