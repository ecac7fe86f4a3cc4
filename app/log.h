// SPDX-License-Identifier: BSD-3-Clause
// The log of commands that run on: one line an event on standard error, as text or as JSON. Where
// standard error is the journal each line begins with its priority, as sd-daemon(3) has it. What
// repeats is counted instead of being written, and a reader that does not read holds nobody up.
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

// Lines of one kind, alike but for their numbers, that are written before the others are counted.
inline constexpr unsigned kAlikeAtOnce = 10;
// So long after the first of them.
inline constexpr Nanoseconds kAlikeWithin = 10 * kSecond;

// The event of what a start has to say: once each, so all of it is written.
inline constexpr std::string_view kNote = "note";

// Events to what is written of them. One thread.
class LogFormatter {
  public:
    struct Form {
        LogFormat format = LogFormat::kText;
        bool priorities = false;
    };

    explicit LogFormatter(const Form& form) : form_(form) {}

    // Nothing for what is counted only; more than one line where others are told of. now: of a
    // clock that only goes forward; unix_ns: for people.
    std::string of(const LogLine& line, Nanoseconds now, std::uint64_t unix_ns);
    // What was counted and told of with no line yet.
    std::string rest(std::uint64_t unix_ns);

  private:
    struct Alike {
        Nanoseconds first = 0;
        unsigned written = 0;
        std::uint64_t more = 0;  // that were not
        LogLine last{""};
    };
    // Kinds that are told apart at once; more are written as they come.
    static constexpr std::size_t kMost = 256;

    [[nodiscard]] std::string form(const LogLine& line, std::uint64_t more,
                                   std::uint64_t unix_ns) const;
    std::string forget_those_before(Nanoseconds now, std::uint64_t unix_ns,
                                    const std::string& but_for);

    Form form_;
    std::map<std::string, Alike> seen_;
};

// "journal" as systemd says it of a service's stream ("device:inode" in $JOURNAL_STREAM).
bool is_journal(int descriptor, const char* journal_stream);

// To standard error, from any thread; in text until set_log_format().
void log_line(const LogLine& line);
void set_log_format(LogFormat format);
// At the end: what was counted only.
void finish_log();

}  // namespace unecho::app
