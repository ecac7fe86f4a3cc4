// SPDX-License-Identifier: BSD-3-Clause
#include "options/command_line.h"

#include "options/version.h"

namespace unecho::app {

std::unique_ptr<CLI::App> make_command_line(const EalArgs& eal_args, Action& action) {
    auto app = std::make_unique<CLI::App>(
        "Remove duplicate packets (echoes) from live traffic and from captures.", "unecho");
    app->set_version_flag("--version", version_text,
                          "Print the versions of unecho, DPDK and the kernel");
    app->require_subcommand(1);
    app->get_formatter()->label("SUBCOMMAND", "COMMAND");
    add_pcap(*app, action);
    add_analyze(*app, action);
    add_compare(*app, action);
    add_capture(*app, action);
    add_extcap(*app, action);
    add_init(*app, action);
    add_check(*app, action);
    add_run(*app, eal_args, action);
    add_reload(*app, action);
    add_status(*app, action);
    add_serve(*app, action);
    add_size(*app, action);
    add_help(*app, action);
    add_version(*app, action);
    for (CLI::App* command : app->get_subcommands({})) {
        command->group("Commands");
    }
    add_complete(*app, action);
    return app;
}

}  // namespace unecho::app
