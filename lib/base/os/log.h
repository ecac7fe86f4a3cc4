// SPDX-License-Identifier: BSD-3-Clause
// Messages during a run: one line for each event, with its severity. The receiver decides where it
// goes and how it looks there (app/log.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace unecho {

// The numbers are those of syslog(3).
enum class Severity : std::uint8_t {
    kError = 3,    // something does not work
    kWarning = 4,  // something is wrong, and somebody should look
    kNotice = 5,   // as configured, and worth knowing
    kInfo = 6,
};

struct LogLine {
    // A line that belongs to no particular kind of event.
    LogLine(std::string line) : text(std::move(line)) {}
    LogLine(Severity how_much, std::string_view of, std::string line)
        : severity(how_much), event(of), text(std::move(line)) {}

    Severity severity = Severity::kInfo;
    std::string_view event = "log";  // kind of the event, one word: "link", "stall"
    std::string text;
};

using Log = std::function<void(const LogLine&)>;

}  // namespace unecho
