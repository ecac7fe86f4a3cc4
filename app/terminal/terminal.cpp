// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/terminal.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include "monitor/status/status_text.h"
#include "terminal/print.h"

namespace unecho::app {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";

// Calls only what a signal handler may call.
void say(std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
        if (n <= 0) {
            return;
        }
        text.remove_prefix(static_cast<std::size_t>(n));
    }
}

void on_suspend(int) {
    say(kLeave);
    raise(SIGSTOP);
    say(kEnter);
}

// Leave the screen, then end by the signal as without it.
void on_quit(int number) {
    say(kLeave);
    std::signal(number, SIG_DFL);
    raise(number);
}

void handle(int number, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
}

}  // namespace

bool is_terminal() {
    return isatty(STDOUT_FILENO) == 1;
}

bool has_colours() {
    const char* term = std::getenv("TERM");
    const char* without = std::getenv("NO_COLOR");
    return is_terminal() && (without == nullptr || *without == '\0') && term != nullptr &&
           std::string_view(term) != "dumb";
}

TerminalSize terminal_size() {
    winsize size{};
    TerminalSize out;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 && size.ws_row != 0) {
        out.columns = size.ws_col;
        out.lines = size.ws_row;
    }
    return out;
}

Screen::Screen() {
    say(kEnter);
    handle(SIGTSTP, on_suspend);
    handle(SIGQUIT, on_quit);
}

Screen::~Screen() {
    handle(SIGTSTP, SIG_DFL);
    handle(SIGQUIT, SIG_DFL);
    say(kLeave);
}

Status Screen::show(const std::string& text) {
    const std::string fitting = monitor::cut_to_height(text, terminal_size().lines - 1);
    std::string out = "\x1b[H";
    std::string_view rest = fitting;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        out.append(rest.substr(0, end)).append("\x1b[K\n");
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return print(out + "\x1b[J");
}

}  // namespace unecho::app
