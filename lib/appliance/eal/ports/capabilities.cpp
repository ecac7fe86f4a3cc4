// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/ports/capabilities.h"

#include <algorithm>
#include <array>
#include <vector>

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace unecho::eal {
namespace {

struct Named {
    std::string_view name;
    unsigned number;
};
constexpr std::array kKnown{
    Named{"CAP_NET_RAW", CAP_NET_RAW},
    Named{"CAP_NET_ADMIN", CAP_NET_ADMIN},
    Named{"CAP_SYS_ADMIN", CAP_SYS_ADMIN},
    Named{"CAP_IPC_LOCK", CAP_IPC_LOCK},
};

}  // namespace

std::string missing_capabilities(std::span<const std::string_view> needed) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
    if (syscall(SYS_capget, &header, data.data()) != 0) {
        return "";
    }
    std::vector<std::string_view> missing;
    for (const Named& known : kKnown) {
        const bool has =
            (data[CAP_TO_INDEX(known.number)].effective & CAP_TO_MASK(known.number)) != 0;
        if (!has && std::find(needed.begin(), needed.end(), known.name) != needed.end()) {
            missing.push_back(known.name);
        }
    }
    std::string text;
    for (std::size_t i = 0; i < missing.size(); ++i) {
        text.append(i == 0 ? "" : i + 1 < missing.size() ? ", " : " and ").append(missing[i]);
    }
    return text + (missing.empty() ? "" : missing.size() == 1 ? " is" : " are");
}

}  // namespace unecho::eal
