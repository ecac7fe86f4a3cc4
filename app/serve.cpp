// SPDX-License-Identifier: BSD-3-Clause
// unecho serve: metrics, state and history of the appliances on this host, over HTTP.
#include <memory>
#include <string>

#include "arguments.h"
#include "base/option_names.h"
#include "base/os/user_group.h"
#include "commands.h"
#include "log_option.h"
#include "monitor/client/discovery.h"
#include "monitor/server/host_monitor.h"
#include "monitor/server/http_api.h"
#include "monitor/server/http_server.h"
#include "monitor/server/listening_socket.h"
#include "stop_signal.h"

namespace unecho::app {
namespace {

constexpr const char* kDefaultAddress = "127.0.0.1:9797";

struct ServeOptions {
    std::string listen = kDefaultAddress;
    OptionText group;
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

CommandResult serve(const ServeOptions& options) {
    UNECHO_TRY(choose_log(options.log_format));
    const auto address = read_address(options);
    UNECHO_TRY(address);
    auto server = monitor::HttpServer::listen(*address);
    if (!server) {
        return fail(server.error().code,
                    std::string(option::kListen) + ": " + server.error().context);
    }
    const std::atomic<bool>& stop = stop_on_signals();
    const monitor::HostMonitor watcher(monitor::runtime_folders(), [](const std::string& line) {
        log_line({Severity::kNotice, "appliance", line});
    });
    monitor::HttpApi service(watcher, (*server)->address());
    log_line("serving " + (*server)->address().url() + "; stop with Ctrl-C");
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
    add_log_format(*command, options->log_format);
    command->callback([options, &action] { action = [options] { return serve(*options); }; });
}

}  // namespace unecho::app
