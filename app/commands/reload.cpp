// SPDX-License-Identifier: BSD-3-Clause
// unecho reload [NAME]: make a running appliance read its configuration file again.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "base/option_names.h"
#include "base/utf8.h"
#include "commands/commands.h"
#include "monitor/client/discovery.h"
#include "monitor/client/json_access.h"
#include "monitor/client/telemetry_client.h"
#include "terminal/log.h"
#include "terminal/print.h"

namespace unecho::app {
namespace {

struct ReloadOptions {
    std::string name;
    bool dry_run = false;
    bool no_wait = false;
};

// The appliance reads, plans and allocates: a large filter takes a while.
constexpr Nanoseconds kPatience = 120 * kSecond;

// The interval at which a waiting reload is queried.
constexpr auto kPause = std::chrono::milliseconds(100);

struct Found {
    std::string name;
    monitor::TelemetryClient client;
};

// Find the appliance of this name, or the only one. Other DPDK programs are skipped.
Result<Found> find(const std::string& name) {
    const std::string wanted = escaped(name);
    const monitor::TelemetrySockets places =
        monitor::find_telemetry_sockets(monitor::runtime_folders());
    std::optional<Found> found;
    std::string others;
    std::string problems;
    for (const std::string& problem : places.problems) {
        problems += "; " + problem;
    }
    for (const monitor::TelemetrySocket& place : places.found) {
        if (!name.empty() && place.name != wanted) {
            others += (others.empty() ? "" : ", ") + place.name;
            continue;
        }
        auto client = monitor::TelemetryClient::connect(place.socket);
        if (!client) {
            problems += fmt::format("; {}: {}", place.name, client.error().context);
            continue;
        }
        const auto info = client->query("/unecho/info");
        if (!info || !info->is_object()) {
            problems += name.empty() ? "" : fmt::format("; {} is no appliance", place.name);
            continue;
        }
        if (found) {
            return fail(Errc::kInvalidArgument,
                        fmt::format("several appliances run here: {}, {}; say which one",
                                    found->name, place.name));
        }
        found = Found{place.name, std::move(*client)};
    }
    if (!found) {
        return fail(Errc::kNotFound,
                    (name.empty() ? "no appliance runs here"
                                  : fmt::format("no appliance \"{}\" runs here{}", wanted,
                                                others.empty() ? "" : "; others: " + others)) +
                        problems);
    }
    return std::move(*found);
}

struct Answer {
    bool accepted = false;
    std::string text;
    std::uint64_t waiting = 0;  // its number if it waits for another reload
};

Result<Answer> query(Found& found, const std::string& command) {
    const auto answer = found.client.query(command, monitor::TelemetryClient::Text::kLines);
    UNECHO_TRY(answer);
    const auto accepted = monitor::as_unsigned(monitor::member(*answer, "accepted"));
    if (!accepted) {
        return fail(Errc::kUnsupported,
                    found.name + " cannot be reloaded here; allowed: its user and root");
    }
    return Answer{*accepted == 1, monitor::joined(monitor::member(*answer, "text")),
                  monitor::as_unsigned(monitor::member(*answer, "waiting")).value_or(0)};
}

// Wait for a queued reload: the one underway may warm a filter for as long as its window.
Result<Answer> wait_for(Found& found, Answer answer) {
    std::string text = answer.text.substr(0, answer.text.find_last_not_of('\n') + 1);
    log_line(fmt::format("{}: {}", found.name, text));
    const std::string command = "/unecho/reload," + std::to_string(answer.waiting);
    while (answer.waiting != 0) {
        std::this_thread::sleep_for(kPause);
        auto later = query(found, command);
        if (!later) {
            return fail(later.error().code,
                        "it is not known what became of the reload: " + later.error().context);
        }
        answer = std::move(*later);
    }
    return answer;
}

CommandResult reload(const ReloadOptions& options) {
    auto found = find(options.name);
    UNECHO_TRY(found);
    found->client.set_timeout(kPatience);
    auto answer = query(*found, options.dry_run ? "/unecho/reload,dry-run" : "/unecho/reload");
    if (answer && answer->waiting != 0 && !options.no_wait) {
        answer = wait_for(*found, std::move(*answer));
    }
    UNECHO_TRY(answer);
    std::string text = std::move(answer->text);
    if (!answer->accepted) {
        text = text.substr(0, text.find_last_not_of('\n') + 1);
        return fail(Errc::kIo, fmt::format("{} goes on as it was\n{}", found->name, text));
    }
    return print_text(text);
}

}  // namespace

void add_reload(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("reload", "Make a running appliance read its configuration file again");
    const auto options = std::make_shared<ReloadOptions>();
    command->add_option("NAME", options->name, "Which one, where several run here");
    command->add_flag(option::kDryRun, options->dry_run, "Print what would change");
    command->add_flag(option::kNoWait, options->no_wait,
                      "Return at once where another reload is underway, not when it is known what "
                      "became of this one");
    command->callback([options, &action] { action = [options] { return reload(*options); }; });
}

}  // namespace unecho::app
