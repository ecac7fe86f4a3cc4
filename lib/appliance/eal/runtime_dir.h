// SPDX-License-Identifier: BSD-3-Clause
// The directory in which DPDK keeps a process's configuration and sockets. DPDK opens its files by
// name, follows links and overwrites, so the directory must belong to this user alone before DPDK
// starts. Without XDG_RUNTIME_DIR it is in /tmp, where anybody may create it first.
#pragma once

#include <string>

#include "base/result.h"

namespace unecho::eal {

// Return the directory that DPDK chooses for a process with this --file-prefix.
std::string runtime_dir(const std::string& prefix);

// Make the directory if it is missing. Errc::kNotFound: it cannot be made. Errc::kPermission:
// another user owns, may write to or may replace it, or a directory or link on the way to it.
Status prepare_runtime_dir(const std::string& prefix);

}  // namespace unecho::eal
