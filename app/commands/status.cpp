// SPDX-License-Identifier: BSD-3-Clause
// unecho status [NAME]: what the appliances on this host do, in a terminal.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <fmt/core.h>

#include "base/option_names.h"
#include "base/utf8.h"
#include "commands/commands.h"
#include "monitor/client/discovery.h"
#include "monitor/client/status_collector.h"
#include "monitor/status/status_text.h"
#include "options/arguments.h"
#include "options/exit_status.h"
#include "terminal/print.h"
#include "terminal/stop_signal.h"
#include "terminal/terminal.h"

namespace unecho::app {
namespace {

using monitor::StatusCollector;

struct StatusOptions {
    std::string name;
    bool watch = false;
    bool json = false;
    bool check = false;
    OptionText since;
    OptionText acknowledge;
};

constexpr auto kBetweenLooks = std::chrono::milliseconds(500);
constexpr auto kTurn = std::chrono::milliseconds(1000);
constexpr auto kStep = std::chrono::milliseconds(50);  // between two checks of stop
// An appliance keeps its counters of an hour, a sample every ten seconds.
constexpr Nanoseconds kLeastSince = 10 * kSecond;
constexpr Nanoseconds kMostSince = 3600 * kSecond;

std::string text_of(const StatusCollector& collector, const monitor::TextStyle& style) {
    std::string out;
    for (const StatusCollector::One& one : collector.all()) {
        out +=
            (out.empty() ? "" : "\n") + monitor::status_text(*one.appliance, one.snapshots, style);
    }
    return out;
}

std::string json_of(const StatusCollector& collector) {
    monitor::Json out = {{"appliances", monitor::Json::array()}};
    for (const StatusCollector::One& one : collector.all()) {
        out["appliances"].push_back(monitor::to_json(*one.appliance));
    }
    return monitor::dump_json(out, 1) + "\n";
}

monitor::TextStyle style() {
    // Piped output goes to a program, or to a reader of any width.
    return {has_colours(), is_terminal() ? terminal_size().columns : 200};
}

// Redraw until stop is set or the reader has left.
CommandResult watch(StatusCollector& collector, const std::atomic<bool>& stop) {
    std::optional<Screen> screen;
    if (is_terminal()) {
        screen.emplace();
    }
    TerminalSize shown = terminal_size();
    while (!stop) {
        collector.look();
        const auto until = std::chrono::steady_clock::now() + kTurn;
        for (bool draw = true; !stop && std::chrono::steady_clock::now() < until;) {
            const TerminalSize size = terminal_size();
            draw |= size.columns != shown.columns || size.lines != shown.lines;
            shown = size;
            if (draw) {
                const Status found = collector.found();
                const std::string text =
                    found ? text_of(collector, style()) : found.error().context + "\n";
                UNECHO_TRY(screen ? screen->show(text) : print(text + "\n"));
            }
            draw = false;
            std::this_thread::sleep_for(kStep);
        }
    }
    return Status{};
}

struct Checked {
    std::string line;
    const ExitStatus* status;
};

Checked check_one(const StatusCollector::One& one) {
    const monitor::ApplianceStatus& appliance = *one.appliance;
    if (appliance.state == monitor::ApplianceState::kRunning) {
        return {monitor::check_text(appliance),
                &kCheckStatuses.at(static_cast<std::size_t>(appliance.health.severity))};
    }
    const bool unknown = appliance.state == monitor::ApplianceState::kGone || !appliance.permitted;
    return {fmt::format("UNECHO {} - {}: it {}\n", unknown ? "UNKNOWN" : "CRITICAL",
                        printable(appliance.name), printable(appliance.problem)),
            unknown ? &kCheckStatuses.back() : &kCheckStatuses.at(2)};
}

// Print one line per appliance; the worst of all is the exit status.
CommandResult check(const StatusCollector& collector) {
    const ExitStatus* worst = kCheckStatuses.data();
    std::string text;
    if (const Status found = collector.found(); !found) {
        text = fmt::format("UNECHO UNKNOWN - {}\n", found.error().context);
        worst = &kCheckStatuses.back();
    }
    for (const StatusCollector::One& one : collector.all()) {
        const Checked checked = check_one(one);
        worst = std::max(worst, checked.status);
        text += checked.line;
    }
    const Status told = print(text);
    return told ? CommandResult::with_status(worst->value) : CommandResult(told);
}

CommandResult acknowledge(StatusCollector& collector, const std::string& rule) {
    UNECHO_TRY(collector.found());
    const auto told = collector.acknowledge(rule);
    if (!told) {
        return fail(told.error().code, fmt::format("{} {}: {}", option::kAcknowledge, escaped(rule),
                                                   told.error().context));
    }
    std::string text;
    for (const monitor::Finding& finding : *told) {
        text += fmt::format("acknowledged: {}\n", printable(finding.text));
    }
    return print(text);
}

Result<Nanoseconds> read_since(const StatusOptions& options) {
    Nanoseconds span = monitor::kJudgedSpan;
    OptionReader read;
    const auto parse = [](const std::string& text) {
        // Monitoring systems write minutes as "5m".
        const auto minutes = parse_duration(text + "in");
        return minutes ? minutes : parse_duration(text);
    };
    read(option::kSince, options.since, parse, [&](Nanoseconds given) { span = given; });
    UNECHO_TRY(read.status());
    if (span < kLeastSince || span > kMostSince) {
        return bad_option(option::kSince, "allowed: 10s to 1h");
    }
    return span;
}

CommandResult status(const StatusOptions& options) {
    const auto span = read_since(options);
    if (!span && options.check) {
        const Status told = print(fmt::format("UNECHO UNKNOWN - {}\n", span.error().context));
        return told ? CommandResult::with_status(kCheckStatuses.back().value) : CommandResult(told);
    }
    UNECHO_TRY(span);
    const std::atomic<bool>& stop = stop_on_signals();
    StatusCollector collector(monitor::runtime_folders(), options.name, stop, *span);
    if (options.watch) {
        return watch(collector, stop);
    }
    collector.look();
    if (options.acknowledge) {
        return acknowledge(collector, *options.acknowledge);
    }
    if (options.check) {
        return check(collector);
    }
    if (!options.json && collector.found()) {
        // Rates need a second query.
        std::this_thread::sleep_for(kBetweenLooks);
        collector.look();
    }
    UNECHO_TRY(collector.found());
    return print(options.json ? json_of(collector) : text_of(collector, style()));
}

}  // namespace

void add_status(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("status", "Show what the appliances on this host do");
    const auto options = std::make_shared<StatusOptions>();
    command->add_option("NAME", options->name, "Show this appliance alone; without a name all");
    CLI::Option* watch =
        command->add_flag(option::kWatch, options->watch, "Again every second, until Ctrl-C");
    CLI::Option* json = command->add_flag(option::kJson, options->json, "Print it as JSON");
    CLI::Option* check =
        command->add_flag(option::kCheck, options->check,
                          "One line and the exit status of a monitoring plugin: 0 fine, 1 warning, "
                          "2 broken, 3 not running or bad usage");
    command
        ->add_option(option::kSince, options->since,
                     "Warn of what happened in this time, 10s to 1h")
        ->type_name("DURATION")
        ->default_str("40s");
    CLI::Option* acknowledge =
        command
            ->add_option(option::kAcknowledge, options->acknowledge,
                         "Say that somebody takes care of what this rule found: it is shown, and "
                         "warns no more until it comes again")
            ->type_name("RULE");
    json->excludes(watch);
    check->excludes(watch)->excludes(json);
    acknowledge->excludes(watch)->excludes(json)->excludes(check);
    command->callback([options, &action] { action = [options] { return status(*options); }; });
}

}  // namespace unecho::app
