// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/user.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "base/utf8.h"

namespace unecho::app {

Result<User> find_user(const std::string& name) {
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 16384> text{};
    const int failed = getpwnam_r(name.c_str(), &entry, text.data(), text.size(), &found);
    if (failed != 0 || found == nullptr) {
        return fail(Errc::kNotFound,
                    fmt::format("\"{}\": no such user{}", escaped(name),
                                failed != 0 ? fmt::format(": {}", std::strerror(failed)) : ""));
    }
    if (geteuid() != 0) {
        return fail(Errc::kPermission,
                    "only root can go on as another user; leave it out, " +
                        std::string("the capability CAP_NET_RAW is enough to capture"));
    }
    return User{name, entry.pw_uid, entry.pw_gid};
}

Status switch_to_user(const User& user) {
    if (initgroups(user.name.c_str(), user.group) != 0 || setgid(user.group) != 0 ||
        setuid(user.id) != 0) {
        return fail(Errc::kPermission, fmt::format("\"{}\": cannot go on as this user: {}",
                                                   user.name, std::strerror(errno)));
    }
    if (user.id != 0 && setuid(0) == 0) {
        return fail(Errc::kPermission, fmt::format("\"{}\": could become root again", user.name));
    }
    return {};
}

}  // namespace unecho::app
