// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/user_group.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include <grp.h>

namespace unecho {

Result<gid_t> group_named(const std::string& name) {
    std::vector<char> room(1024);
    group entry{};
    group* found = nullptr;
    int code = 0;
    while ((code = getgrnam_r(name.c_str(), &entry, room.data(), room.size(), &found)) == ERANGE) {
        room.resize(2 * room.size());
    }
    if (found == nullptr) {
        return fail(Errc::kConfig,
                    "this machine has no group \"" + name + "\"" +
                        (code == 0 ? "" : std::string(" (") + std::strerror(code) + ")") +
                        "; allowed: one that getent group lists");
    }
    return found->gr_gid;
}

}  // namespace unecho
