// SPDX-License-Identifier: BSD-3-Clause
// What the keys of a file mean together, all of it that can be known without starting DPDK. Private
// to config; works on plain data, knows no TOML.
#pragma once

#include "config/draft.h"

namespace unecho::config {

// Reports every problem into the draft; looks names up, sets defaults that depend on other keys.
void validate(Draft& draft);

// The part that is about DPDK's arguments, devices and the files they name; called by validate().
void check_devices(Draft& draft);

}  // namespace unecho::config
