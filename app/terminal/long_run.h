// SPDX-License-Identifier: BSD-3-Clause
// Common parts of commands that may run for long: a progress line, and signals that end them
// without leaving unfinished files.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "captures/source.h"

namespace unecho::app {

// Return "[####      ]  40 % of 1 GiB, 12 s left", or only the size read if the total is unknown.
std::string progress_text(const capture::Source::Progress& progress,
                          std::chrono::duration<double> elapsed);

// Return "1,234 packets, 56 echoes, 0 dropped".
std::string capture_progress_text(std::uint64_t packets, std::uint64_t echoes, std::uint64_t drops);

// Shown on a terminal only, and only after a second.
class ProgressLine {
  public:
    explicit ProgressLine(bool wanted);
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    // Return true if show() would show something now.
    [[nodiscard]] bool is_due() const { return wanted_ && Clock::now() >= next_; }
    void show(const capture::Source::Progress& progress);
    void show(const std::string& text);
    void clear();

  private:
    using Clock = std::chrono::steady_clock;
    bool wanted_;
    bool shown_ = false;
    Clock::time_point start_ = Clock::now();
    Clock::time_point next_ = start_ + std::chrono::seconds(1);
};

inline constexpr const char* kRecoverHelp =
    "Search behind a damaged record for the next one; else an input ends there";

// Return the error for inputs that were not read completely, if nothing else failed.
Status incomplete_input();

// From now on SIGINT, SIGTERM and, unless ignored, SIGHUP end the process at once, with exit status
// 1 and without unfinished files. A closed pipe is an error of writing instead of SIGPIPE.
void end_cleanly_on_signals();

}  // namespace unecho::app
