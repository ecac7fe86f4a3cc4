// SPDX-License-Identifier: BSD-3-Clause
// Files that hold a secret: a key, a password, a seed.
#pragma once

#include <string>

#include "base/result.h"

namespace unecho {

// Return the first line of a regular file that only its owner may access. Return Errc::kConfig if
// it cannot be read, is not a regular file, or has another mode. No error quotes its contents.
Result<std::string> read_private_line(const std::string& path);

}  // namespace unecho
