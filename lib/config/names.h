// SPDX-License-Identifier: BSD-3-Clause
// Default names of the process and its routes, and names that they cannot have. Private to config.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/draft.h"

namespace unecho::config {

// Return "taps" for "/etc/unecho/taps.toml". Characters that a name cannot have become "_", and
// those it cannot begin with are left out. Return "unecho" if nothing is left.
std::string name_of_file(std::string_view path);

// Return "tap-a+tap-b>tool", or if that is long the first and last port, "tap-a+...+tap-h>tool". It
// is unique: a port is in the `from` of one route only, and no name in a file has a ">".
std::string name_of_route(const std::vector<std::string>& from, const std::string& to);

// Check the names of the process and its telemetry.
void check_run_names(Draft& draft);

void name_routes(Draft& draft);

}  // namespace unecho::config
