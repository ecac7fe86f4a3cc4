// SPDX-License-Identifier: BSD-3-Clause
// Drop privileges: continue as another user.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"

namespace unecho::app {

struct User {
    std::string name;
    uid_t id = 0;
    gid_t group = 0;
};

// Errc::kNotFound; Errc::kPermission if this process is not root.
Result<User> find_user(const std::string& name);

// Switch for good, with all groups of the user.
Status switch_to_user(const User& user);

}  // namespace unecho::app
