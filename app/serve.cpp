// SPDX-License-Identifier: BSD-3-Clause
// unecho serve: metrics, state and history of the appliances on this host, over HTTP.
#include <memory>
#include <string>

#include "arguments.h"
#include "base/option_names.h"
#include "commands.h"
#include "log_option.h"
#include "monitor/http_server.h"
#include "monitor/places.h"
#include "monitor/service.h"
#include "monitor/watcher.h"
#include "stop_signal.h"

namespace unecho::app {
namespace {

constexpr const char* kDefaultAddress = "127.0.0.1:9797";

Outcome serve(const std::string& listen, const Text& log_format) {
    if (const Status status = choose_log(log_format); !status) {
        return status;
    }
    const auto address = monitor::ListenAddress::parse(listen);
    if (!address) {
        return bad_option(option::kListen, address.error().context);
    }
    auto server = monitor::HttpServer::listen(*address);
    if (!server) {
        return fail(server.error().code,
                    std::string(option::kListen) + ": " + server.error().context);
    }
    const std::atomic<bool>& stop = stop_on_signals();
    const monitor::Watcher watcher(monitor::runtime_folders(), [](const std::string& line) {
        log_line({Severity::kNotice, "appliance", line});
    });
    monitor::Service service(watcher, (*server)->address());
    log_line("serving " + (*server)->address().url() + "; stop with Ctrl-C");
    if (!address->loopback) {
        log_line(
            {Severity::kNotice, "note",
             "note: whoever reaches this address can read it; nothing is asked for or encrypted"});
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
    const auto listen = std::make_shared<std::string>(kDefaultAddress);
    command
        ->add_option(option::kListen, *listen,
                     "Address and port; beyond this host only if told so here")
        ->type_name("ADDRESS")
        ->capture_default_str();
    const auto log_format = std::make_shared<Text>();
    add_log_format(*command, *log_format);
    command->callback([listen, log_format, &action] {
        action = [listen, log_format] { return serve(*listen, *log_format); };
    });
}

}  // namespace unecho::app
