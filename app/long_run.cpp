// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <unistd.h>

#include "base/units.h"
#include "capture/unfinished.h"
#include "exit_status.h"
#include "long_run.h"

namespace unecho::app {
namespace {

// Reads that wait are not waited for.
void stop(int /*signal*/) {
    static constexpr std::string_view kLine =
        "\nunecho: stopped by a signal; nothing unfinished was left\n";
    capture::remove_unfinished();
    std::ignore = write(STDERR_FILENO, kLine.data(), kLine.size());
    _exit(kFailed.value);
}

}  // namespace

ProgressLine::ProgressLine(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO) != 0) {}

void ProgressLine::show(const capture::Source::Progress& progress) {
    const auto now = Clock::now();
    if (!wanted_ || now < next_) {
        return;
    }
    next_ = now + std::chrono::milliseconds(200);
    shown_ = true;
    if (progress.total == 0) {
        std::fprintf(stderr, "\r\033[K%s", format_size(progress.done).c_str());
        return;
    }
    constexpr unsigned kWidth = 40;
    const double part =
        std::min(1.0, static_cast<double>(progress.done) / static_cast<double>(progress.total));
    const auto full = static_cast<unsigned>(part * kWidth);
    std::fprintf(stderr, "\r\033[K[%s%s] %3.0f %% of %s", std::string(full, '#').c_str(),
                 std::string(kWidth - full, ' ').c_str(), 100 * part,
                 format_size(progress.total).c_str());
}

void ProgressLine::clear() {
    if (std::exchange(shown_, false)) {
        std::fputs("\r\033[K", stderr);
    }
}

void end_cleanly_on_signals() {
    struct sigaction action {};
    action.sa_handler = stop;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    struct sigaction hangup {};
    sigaction(SIGHUP, nullptr, &hangup);
    if (hangup.sa_handler != SIG_IGN) {  // nohup
        sigaction(SIGHUP, &action, nullptr);
    }
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, nullptr);
}

}  // namespace unecho::app
