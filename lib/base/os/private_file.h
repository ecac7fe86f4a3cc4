// SPDX-License-Identifier: BSD-3-Clause
// Files that hold a secret: a key, a password, a seed.
#pragma once

#include <string>

#include "base/result.h"

namespace unecho {

// Return the first line of a regular file that nobody but its owner may use. Errc::kConfig: it
// cannot be read, is no file, or has a mode other than that; no error quotes what the file holds.
Result<std::string> read_private_line(const std::string& path);

}  // namespace unecho
