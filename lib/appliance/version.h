// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace unecho::appliance {

// Return the version of DPDK that this process uses: "DPDK 22.11.11".
std::string dpdk_version();

}  // namespace unecho::appliance
