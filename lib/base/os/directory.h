// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace unecho {

// Return the sorted names in a directory, without . and .., or errno. Throw std::bad_alloc if
// memory is short; libstdc++'s directory_iterator (12) terminates the process instead.
[[nodiscard]] tl::expected<std::vector<std::string>, int> list_directory(const std::string& folder);

}  // namespace unecho
