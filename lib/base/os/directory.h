// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace unecho {

// The names in a folder, sorted, without . and .., or errno. Where memory is short it throws
// std::bad_alloc; libstdc++'s directory_iterator (12) ends the process.
[[nodiscard]] tl::expected<std::vector<std::string>, int> list_directory(const std::string& folder);

}  // namespace unecho
