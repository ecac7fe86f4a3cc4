// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.h"

namespace unecho::app {

std::unique_ptr<CLI::App> make_command_line(const EalArgs& eal_args, Action& action) {
    auto app = std::make_unique<CLI::App>(
        "Remove duplicate packets (echoes) from live traffic and from captures.", "unecho");
    app->set_version_flag("--version", UNECHO_VERSION);
    app->require_subcommand(1);
    add_run(*app, eal_args, action);
    add_init(*app, action);
    add_check(*app, action);
    add_size(*app, action);
    add_pcap(*app, action);
    add_capture(*app, action);
    add_extcap(*app, action);
    add_analyze(*app, action);
    add_serve(*app, action);
    add_reload(*app, action);
    add_status(*app, action);
    add_complete(*app, action);
    return app;
}

}  // namespace unecho::app
