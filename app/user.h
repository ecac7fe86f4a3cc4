// SPDX-License-Identifier: BSD-3-Clause
// Another user for the rest of the process, as which it has no privilege any more.
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

// Errc::kNotFound, and kPermission where only root may ask for one.
Result<User> find_user(const std::string& name);

// With all groups that the user is in, and no way back.
Status switch_to_user(const User& user);

}  // namespace unecho::app
