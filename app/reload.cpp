// SPDX-License-Identifier: BSD-3-Clause
// unecho reload [NAME]: a running appliance takes its configuration over from its file.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/option_names.h"
#include "base/utf8.h"
#include "commands.h"
#include "monitor/json_value.h"
#include "monitor/places.h"
#include "monitor/telemetry_client.h"
#include "print.h"

namespace unecho::app {
namespace {

struct ReloadOptions {
    std::string name;
    bool dry_run = false;
};

// Reading, planning, memory: a large filter takes a while.
constexpr Nanoseconds kPatience = 120 * kSecond;

struct Found {
    std::string name;
    monitor::TelemetryClient client;
};

// The one that is called so, or the only one; of all DPDK programs those that are appliances.
Result<Found> find(const std::string& name) {
    const monitor::Places places = monitor::find_places(monitor::runtime_folders());
    std::optional<Found> found;
    std::string others;
    std::string problems;
    for (const std::string& problem : places.problems) {
        problems += "; " + problem;
    }
    for (const monitor::Place& place : places.found) {
        if (!name.empty() && place.name != name) {
            others += (others.empty() ? "" : ", ") + printable(place.name);
            continue;
        }
        auto client = monitor::TelemetryClient::connect(place.socket);
        if (!client) {
            problems += "; " + printable(place.name) + ": " + client.error().context;
            continue;
        }
        const auto info = client->ask("/unecho/info");
        if (!info || !info->is_object()) {
            problems += name.empty() ? "" : "; " + printable(place.name) + " is no appliance";
            continue;
        }
        if (found) {
            return fail(Errc::kInvalidArgument,
                        "several appliances run here: " + printable(found->name) + ", " +
                            printable(place.name) + "; say which one");
        }
        found = Found{place.name, std::move(*client)};
    }
    if (!found) {
        return fail(Errc::kNotFound,
                    (name.empty() ? "no appliance runs here"
                                  : "no appliance \"" + printable(name) + "\" runs here" +
                                        (others.empty() ? "" : "; others: " + others)) +
                        problems);
    }
    return std::move(*found);
}

Outcome reload(const ReloadOptions& options) {
    auto found = find(options.name);
    if (!found) {
        return tl::unexpected(found.error());
    }
    found->client.set_patience(kPatience);
    const auto answer =
        found->client.ask(options.dry_run ? "/unecho/reload,dry-run" : "/unecho/reload");
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    const auto accepted = answer->is_object() ? answer->find("accepted") : answer->end();
    if (!answer->is_object() || accepted == answer->end() || !accepted->is_number()) {
        return fail(Errc::kUnsupported, printable(found->name) + " cannot be reloaded");
    }
    std::string text = monitor::joined(monitor::member(*answer, "text"));
    if (accepted->get<std::uint64_t>() != 1) {
        text = text.substr(0, text.find_last_not_of('\n') + 1);
        return fail(Errc::kIo, printable(found->name) + " goes on as it was\n" + text);
    }
    return print(text);
}

}  // namespace

void add_reload(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "reload", "A running appliance takes its configuration over from its file");
    const auto options = std::make_shared<ReloadOptions>();
    command->add_option("NAME", options->name, "Which one, where several run here");
    command->add_flag(option::kDryRun, options->dry_run, "Print what would change");
    command->callback([options, &action] { action = [options] { return reload(*options); }; });
}

}  // namespace unecho::app
