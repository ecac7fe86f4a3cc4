// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/version.h"

#include <rte_version.h>

namespace unecho::appliance {

std::string dpdk_version() {
    return rte_version();
}

}  // namespace unecho::appliance
