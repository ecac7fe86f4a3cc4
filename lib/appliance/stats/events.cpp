// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/stats/events.h"

#include "base/os/clock.h"
#include "base/utf8.h"

namespace unecho::appliance {

void EventLog::add(std::string_view kind, std::string_view text) {
    const std::lock_guard lock(mutex_);
    events_.push_back({++last_, unix_now(), kind, escaped_lines(text)});
    if (events_.size() > kKept) {
        events_.pop_front();
    }
}

std::vector<Event> EventLog::all() const {
    const std::lock_guard lock(mutex_);
    return {events_.begin(), events_.end()};
}

}  // namespace unecho::appliance
