// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/log.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/humanize.h"
#include "base/os/clock.h"
#include "base/utf8.h"

namespace unecho::app {
namespace {

// Replace numbers by "#", so that lines that differ only in numbers become equal.
std::string kind_of(const LogLine& line) {
    std::string kind;
    for (const char c : line.text) {
        if (std::isdigit(static_cast<unsigned char>(c)) == 0) {
            kind += c;
        } else if (kind.empty() || kind.back() != '#') {
            kind += '#';
        }
    }
    return kind;
}

// Return "2026-11-23T02:03:32.123456Z".
std::string time_text(std::uint64_t unix_ns) {
    const auto seconds = static_cast<std::time_t>(unix_ns / kSecond);
    std::tm fields{};
    gmtime_r(&seconds, &fields);
    std::array<char, 32> date{};
    const std::size_t size = std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &fields);
    return std::string(date.data(), size) +
           format_number(".%06uZ", static_cast<unsigned>(unix_ns % kSecond / kMicrosecond));
}

std::string_view name_of(Severity severity) {
    switch (severity) {
        case Severity::kError:
            return "error";
        case Severity::kWarning:
            return "warning";
        case Severity::kNotice:
            return "notice";
        case Severity::kInfo:
            break;
    }
    return "info";
}

std::string json_of(const LogLine& line, std::uint64_t more, std::uint64_t unix_ns) {
    nlohmann::ordered_json out = {{"time", time_text(unix_ns)},
                                  {"severity", name_of(line.severity)},
                                  {"event", line.event},
                                  {"message", line.text}};
    if (more != 0) {
        out["more_like_it"] = more;
    }
    return out.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

std::string text_of(const LogLine& line, std::uint64_t more) {
    std::string text = "unecho: " + line.text;
    if (more != 0) {
        text += " (" + format_count(more) + " more like it before)";
    }
    return text;
}

// Begin each line of the text with its priority, or the journal records the second as another
// event.
std::string with_priority(const std::string& text, Severity severity) {
    const std::string priority = "<" + std::to_string(static_cast<unsigned>(severity)) + ">";
    std::string out = priority;
    for (const char c : text) {
        out += c;
        if (c == '\n') {
            out += priority;
        }
    }
    return out;
}

// Standard error. Threads that log must not wait for its reader: the control thread publishes
// turns. A line without room for kPatience is lost, and until there is room later lines do not
// wait.
class StandardError {
  public:
    StandardError() : journal_(is_journal(STDERR_FILENO, std::getenv("JOURNAL_STREAM"))) {}

    [[nodiscard]] bool is_the_journal() const { return journal_; }

    void write(std::string_view text) {
        while (!text.empty() && has_room()) {
            // No more than a pipe with room takes at once.
            const ssize_t n =
                ::write(STDERR_FILENO, text.data(), std::min<std::size_t>(text.size(), 4096));
            if (n < 0 && errno == EINTR) {
                continue;
            }
            if (n <= 0) {
                return;
            }
            text.remove_prefix(static_cast<std::size_t>(n));
        }
    }

  private:
    static constexpr int kPatience = 100;  // milliseconds

    bool has_room() {
        pollfd room{STDERR_FILENO, POLLOUT, 0};
        int ready = -1;
        do {
            ready = poll(&room, 1, patient_ ? kPatience : 0);
        } while (ready < 0 && errno == EINTR);
        patient_ = ready > 0;
        return patient_;
    }

    const bool journal_;
    bool patient_ = true;
};

struct Writer {
    std::mutex mutex;
    StandardError out;
    LogFormatter text{{LogFormat::kText, out.is_the_journal()}};
};

Writer& writer() {
    static Writer instance;
    return instance;
}

}  // namespace

std::string LogFormatter::form(const LogLine& line, std::uint64_t more,
                               std::uint64_t unix_ns) const {
    const LogLine safe{line.severity, line.event, escaped_lines(line.text)};
    const std::string text =
        form_.format == LogFormat::kJson ? json_of(safe, more, unix_ns) : text_of(safe, more);
    return (form_.priorities ? with_priority(text, line.severity) : text) + "\n";
}

// Return the counts of kinds whose time is over, and forget these kinds.
std::string LogFormatter::forget_those_before(Nanoseconds now, std::uint64_t unix_ns,
                                              const std::string& but_for) {
    std::string out;
    for (auto at = seen_.begin(); at != seen_.end();) {
        const Alike& alike = at->second;
        if (now - alike.first < kAlikeWithin || at->first == but_for) {
            ++at;
            continue;
        }
        if (alike.more != 0) {
            out += form(alike.last, alike.more - 1, unix_ns);
        }
        at = seen_.erase(at);
    }
    return out;
}

std::string LogFormatter::of(const LogLine& line, Nanoseconds now, std::uint64_t unix_ns) {
    if (line.event == kNote) {
        return form(line, 0, unix_ns);
    }
    const std::string kind = kind_of(line);
    std::string out = forget_those_before(now, unix_ns, kind);
    if (seen_.size() >= kMost && !seen_.contains(kind)) {
        return out + form(line, 0, unix_ns);
    }
    Alike& alike = seen_[kind];
    if (alike.written == 0 || now - alike.first >= kAlikeWithin) {
        const std::uint64_t more = std::exchange(alike.more, 0);
        alike.first = now;
        alike.written = 1;
        return out + form(line, more, unix_ns);
    }
    if (alike.written < kAlikeAtOnce) {
        ++alike.written;
        return out + form(line, 0, unix_ns);
    }
    ++alike.more;
    alike.last = line;
    return out;
}

std::string LogFormatter::rest(std::uint64_t unix_ns) {
    std::string out;
    for (const auto& [kind, alike] : seen_) {
        if (alike.more != 0) {
            out += form(alike.last, alike.more - 1, unix_ns);
        }
    }
    seen_.clear();
    return out;
}

bool is_journal(int descriptor, const char* journal_stream) {
    struct stat status {};
    return journal_stream != nullptr && fstat(descriptor, &status) == 0 &&
           std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) == journal_stream;
}

void log_line(const LogLine& line) {
    Writer& to = writer();
    const std::lock_guard lock(to.mutex);
    to.out.write(to.text.of(line, steady_now(), unix_now()));
}

void set_log_format(LogFormat format) {
    Writer& to = writer();
    const std::lock_guard lock(to.mutex);
    to.text = LogFormatter({format, to.out.is_the_journal()});
}

void finish_log() {
    Writer& to = writer();
    const std::lock_guard lock(to.mutex);
    to.out.write(to.text.rest(unix_now()));
}

}  // namespace unecho::app
