// SPDX-License-Identifier: BSD-3-Clause
// unecho serve: metrics, state and history of the appliances on this host, over HTTP. With --forget
// it asks a running server to forget one.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/option_names.h"
#include "base/os/user_group.h"
#include "base/units.h"
#include "commands/commands.h"
#include "commands/expected_appliances.h"
#include "monitor/client/discovery.h"
#include "monitor/client/serve_client.h"
#include "monitor/server/history_file.h"
#include "monitor/server/host_monitor.h"
#include "monitor/server/http_api.h"
#include "monitor/server/http_server.h"
#include "monitor/server/listening_socket.h"
#include "options/arguments.h"
#include "options/log_option.h"
#include "terminal/print.h"
#include "terminal/stop_signal.h"

namespace unecho::app {
namespace {

constexpr const char* kDefaultAddress = "127.0.0.1:9797";

struct ServeOptions {
    std::string listen = kDefaultAddress;
    OptionText group;
    std::vector<std::string> expect;
    OptionText forget_after;
    OptionText history;
    OptionText forget;
    OptionText log_format;
};

Result<monitor::ListenAddress> read_address(const ServeOptions& options) {
    auto address = monitor::ListenAddress::parse(options.listen);
    if (!address) {
        return bad_option(option::kListen, address.error().context);
    }
    if (options.group && !address->is_unix()) {
        return bad_option(option::kListenGroup, "is for " + option::kListen + " unix:PATH");
    }
    OptionReader read;
    read(option::kListenGroup, options.group, group_named,
         [&](gid_t group) { address->group = group; });
    UNECHO_TRY(read.status());
    return address;
}

// Tell the operator who can read what is served; empty: no note needed.
std::string who_reads(const monitor::ListenAddress& address) {
    if (address.is_unix()) {
        return "";
    }
    return address.loopback
               ? "every user of this host can read it, whatever [run] telemetry_group says; " +
                     option::kListen + " unix:PATH is for one user or a group"
               : "whoever reaches this address can read it; nothing is asked for or encrypted";
}

// Make the server's specification, except where it looks. The problems of what is expected are
// logged as they come.
Result<monitor::HostMonitorSpec> read_spec(const ServeOptions& options) {
    monitor::HostMonitorSpec spec;
    OptionReader read;
    read(option::kForgetAfter, options.forget_after, parse_duration,
         [&](Nanoseconds time) { spec.forget_after = time; });
    if (!read.status()) {
        return tl::unexpected(read.status().error());
    }
    auto expected = ExpectedAppliances::parse(options.expect);
    UNECHO_TRY(expected);
    spec.expected = [all = std::make_shared<ExpectedAppliances>(std::move(*expected))] {
        return all->names([](const std::string& line) {
            log_line({Severity::kWarning, "expected", line});
        });
    };
    if (options.history) {
        auto folder = monitor::HistoryFolder::open(*options.history);
        if (!folder) {
            return fail(folder.error().code,
                        fmt::format("{}: {}", option::kHistory, folder.error().context));
        }
        spec.history = std::move(*folder);
    }
    return spec;
}

CommandResult forget(const monitor::ListenAddress& address, const std::string& name) {
    const auto said = monitor::forget_appliance(address, name);
    return said ? CommandResult(print(*said + "\n")) : CommandResult(tl::unexpected(said.error()));
}

CommandResult serve(const ServeOptions& options) {
    UNECHO_TRY(choose_log(options.log_format));
    const auto address = read_address(options);
    UNECHO_TRY(address);
    if (options.forget) {
        return forget(*address, *options.forget);
    }
    auto spec = read_spec(options);
    UNECHO_TRY(spec);
    spec->folders = monitor::runtime_folders();
    auto server = monitor::HttpServer::listen(*address);
    if (!server) {
        return fail(server.error().code,
                    fmt::format("{}: {}", option::kListen, server.error().context));
    }
    const std::atomic<bool>& stop = stop_on_signals();
    monitor::HostMonitor watcher(std::move(*spec), [](const std::string& line) {
        log_line({Severity::kNotice, "appliance", line});
    });
    monitor::HttpApi service(watcher, (*server)->address());
    log_line(fmt::format("serving {}; stop with Ctrl-C", (*server)->address().url()));
    if (const std::string who = who_reads(*address); !who.empty()) {
        log_line({Severity::kNotice, kNote, "note: " + who});
    }
    for (const std::string& problem : watcher.problems()) {
        log_line({Severity::kNotice, kNote, "note: " + problem});
    }
    return (*server)->run(
        [&](const monitor::HttpRequest& request) { return service.answer(request); },
        [&] { return service.event(); }, stop);
}

}  // namespace

void add_serve(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("serve", "Serve metrics and state of the appliances on this host");
    const auto options = std::make_shared<ServeOptions>();
    command
        ->add_option(option::kListen, options->listen,
                     "Address and port, beyond this host only if told so here; or unix:PATH, a "
                     "socket of this user alone")
        ->type_name("ADDRESS")
        ->capture_default_str();
    command
        ->add_option(option::kListenGroup, options->group,
                     "Let members of this group use the socket of unix:PATH, too")
        ->type_name("GROUP");
    command
        ->add_option(option::kExpect, options->expect,
                     "Appliances that should run: NAME,NAME, or those of the configurations in a "
                     "folder (with a / in its path)")
        ->type_name("NAMES")
        ->delimiter(',')
        ->allow_extra_args(false);
    command
        ->add_option(option::kForgetAfter, options->forget_after,
                     "Forget an appliance that is gone for so long, and was not expected "
                     "(default 24h)")
        ->type_name("DURATION");
    command
        ->add_option(option::kHistory, options->history,
                     "Keep the last hour in this folder, too, so that it survives a restart")
        ->type_name("FOLDER");
    CLI::Option* forget =
        command
            ->add_option(option::kForget, options->forget,
                         "Serve nothing, but make the server at the address forget an appliance "
                         "that is gone")
            ->type_name("NAME");
    for (const auto& other :
         {option::kExpect, option::kForgetAfter, option::kHistory, option::kListenGroup}) {
        forget->excludes(command->get_option(other));
    }
    add_log_format(*command, options->log_format);
    command->callback([options, &action] { action = [options] { return serve(*options); }; });
}

}  // namespace unecho::app
