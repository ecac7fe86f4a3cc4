// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <sys/types.h>

#include "base/result.h"

namespace unecho {

// Return the number of a user group. Return Errc::kConfig if there is none of that name.
Result<gid_t> group_named(const std::string& name);

}  // namespace unecho
