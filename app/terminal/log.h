// SPDX-License-Identifier: BSD-3-Clause
// The log of long-running commands: one line per event on standard error, as text or JSON. On the
// journal each line begins with its priority, as in sd-daemon(3). Repeated lines are counted
// instead of written, and a reader that stops reading delays no thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/os/log.h"
#include "base/units.h"

namespace unecho::app {

enum class LogFormat : std::uint8_t { kText, kJson };
inline constexpr std::array<std::string_view, 2> kLogFormats{"text", "json"};

// This many lines that differ in numbers only are written; the next ones are counted.
inline constexpr unsigned kAlikeAtOnce = 10;
// Such lines are counted for this long after the first of them.
inline constexpr Nanoseconds kAlikeWithin = 10 * kSecond;

// The event of notes at the start. Each comes once, so all of them are written.
inline constexpr std::string_view kNote = "note";

// Decides what is written of an event. Used by one thread at a time.
class LogFormatter {
  public:
    struct Form {
        LogFormat format = LogFormat::kText;
        bool priorities = false;
    };

    explicit LogFormatter(const Form& form) : form_(form) {}

    // Return nothing if the line is only counted, or several lines if others were counted before.
    // now: of a monotonic clock; unix_ns: shown to people.
    std::string of(const LogLine& line, Nanoseconds now, std::uint64_t unix_ns);
    // Return a line for each kind that has counted lines left.
    std::string rest(std::uint64_t unix_ns);

  private:
    struct Alike {
        Nanoseconds first = 0;
        unsigned written = 0;
        std::uint64_t more = 0;  // counted, not written
        LogLine last{""};
    };
    // Kinds distinguished at a time; lines of further kinds are all written.
    static constexpr std::size_t kMost = 256;

    [[nodiscard]] std::string form(const LogLine& line, std::uint64_t more,
                                   std::uint64_t unix_ns) const;
    std::string forget_those_before(Nanoseconds now, std::uint64_t unix_ns,
                                    const std::string& but_for);

    Form form_;
    std::map<std::string, Alike> seen_;
};

// Return true if the descriptor is the journal stream in $JOURNAL_STREAM ("device:inode").
bool is_journal(int descriptor, const char* journal_stream);

// Write to standard error, from any thread; as text until set_log_format().
void log_line(const LogLine& line);
void set_log_format(LogFormat format);
// Write what was only counted. Call at the end.
void finish_log();

}  // namespace unecho::app
