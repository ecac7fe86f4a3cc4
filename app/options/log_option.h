// SPDX-License-Identifier: BSD-3-Clause
// The option of long-running commands for the form of their log.
#pragma once

#include <CLI/CLI.hpp>

#include "base/option_names.h"
#include "options/arguments.h"
#include "terminal/log.h"

namespace unecho::app {

inline void add_log_format(CLI::App& command, OptionText& format) {
    command
        .add_option(option::kLogFormat, format,
                    "Form of the log on standard error: lines for people, or a JSON object each")
        ->type_name(one_of(kLogFormats));
}

inline Status choose_log(const OptionText& format) {
    OptionReader read;
    read(option::kLogFormat, format, name_in(kLogFormats),
         [](std::size_t place) { set_log_format(static_cast<LogFormat>(place)); });
    return read.status();
}

}  // namespace unecho::app
