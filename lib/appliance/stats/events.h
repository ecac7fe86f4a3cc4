// SPDX-License-Identifier: BSD-3-Clause
// What happened to the appliance as a whole, for those who look later: the newest, numbered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace unecho::control {

// Since 1970, in nanoseconds, by the system's clock.
std::uint64_t unix_now();

struct Event {
    std::uint64_t number = 0;  // from 1
    std::uint64_t unix_ns = 0;
    std::string_view kind;  // of those below
    std::string text;
};

namespace event {
inline constexpr std::string_view kStart = "start";
inline constexpr std::string_view kLink = "link";
inline constexpr std::string_view kWorker = "worker";  // it does not poll, or polls again
inline constexpr std::string_view kStall = "stall";
inline constexpr std::string_view kReload = "reload";
inline constexpr std::string_view kRoot = "root";  // that sites share: it answers, or does not
inline constexpr std::string_view kTime =
    "time";  // stepped: the system's clock, or that of captures
inline constexpr std::string_view kService = "service";  // the service manager
}  // namespace event

// Any thread.
class EventLog {
  public:
    static constexpr std::size_t kKept = 64;

    // text may hold what others said: it is kept escaped.
    void add(std::string_view kind, std::string_view text);
    // The oldest first.
    [[nodiscard]] std::vector<Event> all() const;

  private:
    mutable std::mutex mutex_;
    std::deque<Event> events_;
    std::uint64_t last_ = 0;  // number
};

}  // namespace unecho::control
