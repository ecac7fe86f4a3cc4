// SPDX-License-Identifier: BSD-3-Clause
// Who may ask DPDK's telemetry: its socket lies in a folder of the process, which is its user's
// alone.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/result.h"

namespace unecho::eal {

// Errc::kConfig if this machine has no such group.
Result<gid_t> group_named(const std::string& name);

// The folder of a process with this --file-prefix, as DPDK chooses it.
std::string runtime_folder(const std::string& prefix);

// Whether somebody answers on the telemetry socket in a folder.
bool telemetry_answers(const std::string& folder);

// Folder and socket of this process to a group, after DPDK started. The folder above, which
// processes share, becomes one that everybody may list.
Status open_telemetry_to(gid_t group);

}  // namespace unecho::eal
