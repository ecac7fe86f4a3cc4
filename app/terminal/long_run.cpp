// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/long_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "base/humanize.h"
#include "base/units.h"
#include "captures/output/temp_file_registry.h"
#include "captures/output/write_progress.h"
#include "options/exit_status.h"

namespace unecho::app {
namespace {

// A signal handler; it does not wait for pending reads.
void stop(int /*signal*/) {
    static constexpr std::string_view kLine =
        "\nunecho: stopped by a signal; nothing unfinished was left";
    capture::remove_temp_files();
    std::array<char, 1024> line{};
    std::copy(kLine.begin(), kLine.end(), line.begin());
    const std::size_t room = line.size() - kLine.size() - 1;
    std::size_t size = kLine.size();
    size += capture::format_write_progress(std::span(line).subspan(size, room));
    line[size++] = '\n';
    std::ignore = write(STDERR_FILENO, line.data(), size);
    _exit(kFailed.value);
}

// Return "12 s left", "3 min 05 s left" or "1 h 05 min left".
std::string time_left(double seconds) {
    const auto whole = static_cast<unsigned long long>(std::round(std::min(seconds, 1e9)));
    const unsigned long long minutes = whole / 60;
    return minutes == 0   ? format_number("%llu s left", whole)
           : minutes < 60 ? format_number("%llu min %02llu s left", minutes, whole % 60)
                          : format_number("%llu h %02llu min left", minutes / 60, minutes % 60);
}

}  // namespace

std::string progress_text(const capture::Source::Progress& progress,
                          std::chrono::duration<double> elapsed) {
    if (progress.total == 0) {
        return format_size(progress.done);
    }
    constexpr unsigned kWidth = 40;
    const double part =
        std::min(1.0, static_cast<double>(progress.done) / static_cast<double>(progress.total));
    const auto full = static_cast<unsigned>(part * kWidth);
    const std::string text = "[" + std::string(full, '#') + std::string(kWidth - full, ' ') +
                             format_number("] %3.0f %% of ", 100 * part) +
                             format_size(progress.total);
    constexpr double kTold = 0.01;  // a smaller part allows no estimate
    return part < kTold ? text : text + ", " + time_left(elapsed.count() * (1 - part) / part);
}

std::string capture_progress_text(std::uint64_t packets, std::uint64_t echoes,
                                  std::uint64_t drops) {
    return fmt::format("{}, {}, {} dropped", format_quantity(packets, "packet"),
                       format_quantity(echoes, "echo"), format_count(drops));
}

ProgressLine::ProgressLine(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO) != 0) {}

void ProgressLine::show(const capture::Source::Progress& progress) {
    if (is_due()) {
        show(progress_text(progress, Clock::now() - start_));
    }
}

void ProgressLine::show(const std::string& text) {
    if (!is_due()) {
        return;
    }
    next_ = Clock::now() + std::chrono::milliseconds(200);
    shown_ = true;
    std::fprintf(stderr, "\r\033[K%s", text.c_str());
}

void ProgressLine::clear() {
    if (std::exchange(shown_, false)) {
        std::fputs("\r\033[K", stderr);
    }
}

Status incomplete_input() {
    return fail(Errc::kIo, "not all packets of the input were read, see the warnings above");
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
