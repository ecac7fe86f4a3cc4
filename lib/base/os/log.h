// SPDX-License-Identifier: BSD-3-Clause
// What is told while something runs: one line an event, with how much it matters. Whoever writes it
// knows where it goes and what it looks like there (app/log.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace unecho {

// With the numbers of syslog(3).
enum class Severity : std::uint8_t {
    kError = 3,    // something does not work
    kWarning = 4,  // something is not as it should be, and somebody should look
    kNotice = 5,   // it is as it was asked for, and worth knowing
    kInfo = 6,
};

struct LogLine {
    // Of nothing in particular.
    LogLine(std::string line) : text(std::move(line)) {}
    LogLine(Severity how_much, std::string_view of, std::string line)
        : severity(how_much), event(of), text(std::move(line)) {}

    Severity severity = Severity::kInfo;
    std::string_view event = "log";  // what kind it is, one word: "link", "stall"
    std::string text;
};

using Log = std::function<void(const LogLine&)>;

}  // namespace unecho
