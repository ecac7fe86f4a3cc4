// SPDX-License-Identifier: BSD-3-Clause
// unecho: run a command and return its exit status. Continue the tour in lib/appliance/plan/plan.h,
// lib/appliance/dataplane/worker.h, lib/dedup/pipeline/stages.h, lib/filters/window/line.h.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "base/option_names.h"
#include "base/os/fatal_handler.h"
#include "base/utf8.h"
#include "captures/output/temp_file_registry.h"
#include "options/command_line.h"
#include "options/exit_status.h"
#include "options/help.h"
#include "options/usage.h"
#include "options/version.h"
#include "terminal/log.h"
#include "terminal/print.h"

namespace {

using unecho::app::kBadUsage;
using unecho::app::kDone;
using unecho::app::kFailed;

// Remove and return what follows "--" of `unecho run`. In other commands file names follow it.
unecho::app::EalArgs split_eal_args(std::vector<std::string>& args) {
    if (args.empty() || args.front() != "run") {
        return {};
    }
    const auto dashes = std::find(args.begin(), args.end(), "--");
    unecho::app::EalArgs eal;
    if (dashes != args.end()) {
        eal.assign(dashes + 1, args.end());
        args.erase(dashes, args.end());
    }
    return eal;
}

// Wireshark starts the programs of its directory without naming a command.
bool is_extcap(const std::string& name) {
    return name.substr(name.rfind('/') + 1) == "unecho-extcap";
}

int report(const unecho::Error& error) {
    unecho::app::log_line({unecho::Severity::kError, "error", error.context});
    return error.code == unecho::Errc::kConfig ? kBadUsage.value : kFailed.value;
}

// Monitoring systems take 2 for broken, so bad usage of `status --check` is kUnknown.
int bad_usage(const std::vector<std::string>& args) {
    const bool check =
        !args.empty() && args.front() == "status" &&
        std::find(args.begin(), args.end(), std::string(unecho::option::kCheck)) != args.end();
    return check ? unecho::app::kUnknown.value : kBadUsage.value;
}

// Print help and version like any answer, so that a full disk is reported.
int print_help(const CLI::App& app, const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const unecho::Status printed = unecho::app::print(
        dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr
            ? unecho::app::version_text() + "\n"
            : unecho::app::help_text(app, chosen.empty() ? nullptr : chosen.front()));
    return printed ? kDone.value : report(printed.error());
}

// A problem is one line as everywhere.
int report_usage(const std::vector<std::string>& args, const CLI::App& app,
                 const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
        return print_help(app, error);
    }
    std::string name = app.get_name();
    for (const CLI::App* command : app.get_subcommands()) {
        name += " " + command->get_name();
    }
    const std::string problem = unecho::escaped(unecho::app::usage_problem(app, error));
    std::fprintf(stderr, "unecho: %s%s \"%s --help\" says what is allowed\n", problem.c_str(),
                 problem.back() == '?' ? "" : ";", name.c_str());
    return bad_usage(args);
}

// Report that the system lacks a resource or a library gave up, and remove unfinished outputs, as
// after a signal. Allocates nothing.
int exit_out_of_resources(std::string_view of, std::string_view why) noexcept {
    unecho::capture::remove_temp_files();
    const int real = unecho::real_standard_error;
    const int to = real >= 0 ? real : STDERR_FILENO;
    for (const std::string_view part :
         {std::string_view("unecho: "), of, why, std::string_view("\n")}) {
        [[maybe_unused]] const auto written = write(to, part.data(), part.size());
    }
    return kFailed.value;
}

// Handle the exception in flight, if it says that a resource is lacking.
std::optional<int> exit_out_of_resources() noexcept {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return exit_out_of_resources("no memory is left", "");
    } catch (const std::system_error& error) {
        const bool thread = error.code() == std::errc::resource_unavailable_try_again;
        return exit_out_of_resources(thread ? "no thread can be started: " : "", error.what());
    } catch (...) {  // a bug
        return std::nullopt;
    }
}

std::terminate_handler before;

// Reached where no caller can handle an exception: on another thread, from a noexcept function, or
// before main().
[[noreturn]] void on_terminate() {
    if (std::current_exception()) {
        if (const std::optional<int> status = exit_out_of_resources()) {
            _exit(*status);
        }
    }
    before();
    std::abort();
}

// Run first, because initializers of other objects allocate, too.
constexpr int kFirst = 101;
[[gnu::constructor(kFirst)]] void watch_over_ends() {
    before = std::set_terminate(on_terminate);
    unecho::fatal_handler = [](const char* why) noexcept { _exit(exit_out_of_resources("", why)); };
}

int run(int argc, char** argv) {
    std::vector<std::string> args(argv + 1, argv + argc);
    if (argc > 0 && is_extcap(argv[0])) {
        args.insert(args.begin(), "extcap");
    }
    const unecho::app::EalArgs eal_args = split_eal_args(args);

    unecho::app::Action action;
    const auto app = unecho::app::make_command_line(eal_args, action);

    if (args.empty()) {
        std::fputs(unecho::app::short_help(*app).c_str(), stderr);
        return kBadUsage.value;
    }
    if (!args.front().starts_with('-') && !unecho::app::is_command(*app, args.front())) {
        std::fprintf(stderr, "unecho: %s\n",
                     unecho::app::unknown_command(*app, args.front()).c_str());
        return kBadUsage.value;
    }
    try {
        std::vector<std::string> reversed(args.rbegin(), args.rend());
        app->parse(reversed);
    } catch (const CLI::ParseError& error) {
        return report_usage(args, *app, error);
    }
    const unecho::app::CommandResult outcome = action();
    const int status = outcome ? outcome.exit_status() : report(outcome.error());
    unecho::app::finish_log();
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (...) {
        if (const std::optional<int> status = exit_out_of_resources()) {
            return *status;
        }
        throw;
    }
}
