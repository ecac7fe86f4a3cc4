// SPDX-License-Identifier: BSD-3-Clause
// Checks what the keys of a file mean together, as far as that is possible without starting DPDK.
// Private to config; works on plain data, knows no TOML.
#pragma once

#include "config/draft.h"

namespace unecho::config {

// Report every problem to the draft, look names up, and set defaults that depend on other keys.
void validate(Draft& draft);

// Check DPDK's arguments, devices and the files they name. Called by validate().
void check_devices(Draft& draft);

}  // namespace unecho::config
