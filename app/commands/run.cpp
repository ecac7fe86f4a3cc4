// SPDX-License-Identifier: BSD-3-Clause
// unecho run CONFIG: the appliance.
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "appliance/appliance.h"
#include "appliance/stats/monitor_server.h"
#include "appliance/stats/telemetry.h"
#include "appliance/supervisor.h"
#include "base/option_names.h"
#include "commands/commands.h"
#include "config/load.h"
#include "options/arguments.h"
#include "options/log_option.h"
#include "terminal/log.h"
#include "terminal/print.h"
#include "terminal/stop_signal.h"

namespace unecho::app {
namespace {

struct RunOptions {
    std::string path;
    OptionText duration;
    OptionText log_format;
    bool json = false;
    bool verbose = false;
};

void announce(const appliance::Appliance& appliance) {
    const appliance::Plan& plan = appliance.plan();
    for (const std::string& note : plan.notes) {
        log_line({Severity::kNotice, kNote, "note: " + note});
    }
    log_line("steering: " + plan.steering_reason);
    for (const auto& [page, bytes] : appliance.filter_bytes_by_page()) {
        log_line(fmt::format("filters: {} in pages of {}", format_size(bytes), format_size(page)));
    }
    log_line(fmt::format("kernels: {} ({})", filter::name_of(plan.isa), plan.isa_reason));
    log_line(fmt::format("running with {} worker(s), {} route(s); stop with Ctrl-C",
                         plan.workers.size(), plan.routes.size()));
}

// Run until stopped; telemetry is answered meanwhile.
Result<appliance::StatsReport> forward(appliance::Appliance& appliance,
                                       const config::Config& config,
                                       const appliance::ReloadSource& again,
                                       const std::atomic<bool>& stop_requested) {
    appliance::Supervisor supervisor(appliance, config, log_line);
    supervisor.reload_from(again);
    const auto telemetry = appliance::Telemetry::attach(
        appliance.plan(), [&supervisor] { return supervisor.report(); },
        {[&supervisor](bool dry_run) { return supervisor.reload(dry_run); },
         [&supervisor](std::uint64_t number) { return supervisor.outcome_of_reload(number); }});
    UNECHO_TRY(telemetry);
    std::unique_ptr<appliance::MonitorServer> for_the_group;
    if (appliance.monitor_socket() >= 0) {
        auto started = appliance::MonitorServer::start(appliance.monitor_socket(),
                                                       appliance::answer_read_command);
        UNECHO_TRY(started);
        for_the_group = std::move(*started);
    }
    announce(appliance);
    return supervisor.run(stop_requested);
}

CommandResult run(const RunOptions& options, const EalArgs& eal_args) {
    UNECHO_TRY(choose_log(options.log_format));
    std::optional<Nanoseconds> duration;
    OptionReader read;
    read(option::kDuration, options.duration, parse_duration,
         [&](Nanoseconds given) { duration = given; });
    if (!read.status()) {
        return read.status();
    }
    const auto load = [path = options.path, duration](config::FileKind kind) {
        auto loaded = config::load_file(path, kind);
        if (loaded && duration) {
            loaded->run.duration = duration;
        }
        return loaded;
    };
    // From here on SIGHUP means reload. With a terminal as standard input it means stop: the
    // terminal was closed.
    const bool foreground = isatty(STDIN_FILENO) == 1;
    const appliance::ReloadSource again{[load] { return load(config::FileKind::kRegular); },
                                        foreground ? nullptr : &sighup_count()};
    const auto config = load(config::FileKind::kAny);
    if (!config) {
        return tl::unexpected(config::as_error(config.error(), options.path));
    }
    // From here on other signals mean an orderly stop.
    const std::atomic<bool>& stop_requested =
        foreground ? stop_on_signals_and_hangup() : stop_on_signals();
    auto appliance = appliance::Appliance::build(*config, {eal_args, options.verbose});
    UNECHO_TRY(appliance);
    const auto report = forward(**appliance, *config, again, stop_requested);
    UNECHO_TRY(report);
    // Close the ports at once: until then a bridge under an AF_XDP link gets no packet.
    (*appliance)->close_ports(log_line);
    return options.json ? print_json([&] { return appliance::to_json(*report->plan, *report); })
                        : print_text(appliance::to_text(*report->plan, *report));
}

}  // namespace

void add_run(CLI::App& app, const EalArgs& eal_args, Action& action) {
    CLI::App* command = app.add_subcommand("run", "Run the appliance; EAL arguments behind --");
    const auto options = std::make_shared<RunOptions>();
    command->add_option("CONFIG", options->path, "TOML file")->required();
    command->add_option(option::kDuration, options->duration, "Stop after this long, as in 30s")
        ->type_name("DURATION");
    command->add_flag(option::kJson, options->json, "Print the report as JSON");
    add_log_format(*command, options->log_format);
    command->add_flag(both(option::kVerbose, option::kLongVerbose), options->verbose,
                      "DPDK's own log to standard error");
    command->callback([options, &eal_args, &action] {
        action = [options, &eal_args] { return run(*options, eal_args); };
    });
}

}  // namespace unecho::app
