// SPDX-License-Identifier: BSD-3-Clause
// What commands that may run for long have in common: a line that says how far they are, and
// signals that end them with nothing half-written left.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "captures/source.h"

namespace unecho::app {

// "[####      ]  40 % of 1GiB, 12 s left", or what was read where that is all that is known.
std::string progress_text(const capture::Source::Progress& progress,
                          std::chrono::duration<double> elapsed);

// On a terminal only, and only for what takes longer than a second.
class ProgressLine {
  public:
    explicit ProgressLine(bool wanted);
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(const capture::Source::Progress& progress);
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

// What such a command ends with when all else went well, but inputs were not read whole.
Status incomplete_input();

// From here on SIGINT, SIGTERM and, unless it was ignored, SIGHUP end the process at once, with
// exit status 1 and without unfinished files; a reader that leaves a pipe is an error of writing.
void end_cleanly_on_signals();

}  // namespace unecho::app
