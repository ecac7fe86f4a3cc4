// SPDX-License-Identifier: BSD-3-Clause
// The folder in which DPDK keeps the configuration of a process and its sockets. DPDK opens its
// files by name, follows links and overwrites, so the folder must be this user's alone before it
// starts: where XDG_RUNTIME_DIR is not set it lies in /tmp, where everybody may make it first.
#pragma once

#include <string>

#include "base/result.h"

namespace unecho::eal {

// The folder of a process with this --file-prefix, as DPDK chooses it.
std::string runtime_dir(const std::string& prefix);

// Make the folder where it is missing. Errc::kNotFound: it cannot be made. Errc::kPermission:
// another user owns it, may write to it or may exchange it, or a directory or link on the way to
// it.
Status prepare_runtime_dir(const std::string& prefix);

}  // namespace unecho::eal
