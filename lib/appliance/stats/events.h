// SPDX-License-Identifier: BSD-3-Clause
// Events of the appliance as a whole, for later readers: the newest 64, numbered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/os/log.h"
#include "base/result.h"

namespace unecho::appliance {

struct Event {
    std::uint64_t number = 0;  // counts from 1
    std::uint64_t unix_ns = 0;
    std::string_view kind;  // one of those below
    std::string text;
};

namespace event {
inline constexpr std::string_view kStart = "start";
inline constexpr std::string_view kLink = "link";
inline constexpr std::string_view kWorker = "worker";  // stops or resumes polling
inline constexpr std::string_view kStall = "stall";
inline constexpr std::string_view kReload = "reload";
inline constexpr std::string_view kRoot = "root";  // the shared flow store answers, or does not
inline constexpr std::string_view kTime =
    "time";  // steps of the system's clock, or of capture time
inline constexpr std::string_view kService = "service";
}  // namespace event

// May be used from any thread.
class EventLog {
  public:
    static constexpr std::size_t kKept = 64;

    // Add an event. text may hold foreign input, so it is escaped.
    void add(std::string_view kind, std::string_view text);
    // Return all events, the oldest first.
    [[nodiscard]] std::vector<Event> all() const;

  private:
    mutable std::mutex mutex_;
    std::deque<Event> events_;
    std::uint64_t last_ = 0;  // number of the newest event
};

// Writes what happens to the log, and adds it to the events that reports show.
class EventWriter {
  public:
    EventWriter(EventLog& events, Log log) : events_(events), log_(std::move(log)) {}

    void add(std::string_view kind, const std::string& line,
             Severity severity = Severity::kNotice) const {
        log_({severity, kind, line});
        events_.add(kind, line);
    }
    // Log an error as a warning; no event.
    void warn(const Status& status, std::string_view kind) const {
        if (!status) {
            log_({Severity::kWarning, kind, status.error().context});
        }
    }

  private:
    EventLog& events_;
    Log log_;
};

}  // namespace unecho::appliance
