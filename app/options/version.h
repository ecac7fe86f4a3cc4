// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace unecho::app {

// Return what a bug report needs, in lines: the version and its commit, the versions of DPDK and of
// the kernel, and the instruction set of the filters' kernels.
std::string version_text();

}  // namespace unecho::app
