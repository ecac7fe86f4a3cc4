// SPDX-License-Identifier: BSD-3-Clause
// What the process and its routes are called where the file does not say, and what they cannot be
// called. Private to config.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/draft.h"

namespace unecho::config {

// "taps" of "/etc/unecho/taps.toml": without what a name cannot have, which becomes "_", and what
// it cannot begin with; "unecho" where nothing is left.
std::string name_of_file(std::string_view path);

// "tap-a+tap-b>tool"; of many long names the first and the last, "tap-a+...+tap-h>tool". No two
// routes of a file have one, because a port is in the from of one, and no name of a file has a ">".
std::string name_of_route(const std::vector<std::string>& from, const std::string& to);

// Of the process and its telemetry.
void check_run_names(Draft& draft);

// Of routes that have none.
void name_routes(Draft& draft);

}  // namespace unecho::config
