// SPDX-License-Identifier: BSD-3-Clause
#include "options/version.h"

#include <sys/utsname.h>

#include "appliance/version.h"
#include "commit.h"
#include "dedup/engines/isa.h"

namespace unecho::app {

std::string version_text() {
    std::string text = "unecho " UNECHO_VERSION ", commit " UNECHO_COMMIT "\n";
    text += appliance::dpdk_version() + "\n";
    utsname kernel{};
    if (uname(&kernel) == 0) {
        text += std::string(kernel.sysname) + " " + kernel.release + " " + kernel.machine + "\n";
    }
    const engines::IsaChoice isas = engines::IsaChoice::detect();
    text += "filter kernels up to " + std::string(filter::name_of(isas.widest));
    return text + (isas.forced ? ", UNECHO_ISA=" + *isas.forced : "");
}

}  // namespace unecho::app
