// SPDX-License-Identifier: BSD-3-Clause
// Guards outputs against names prepared by other users. In a directory where everybody may create
// files (sticky, as /tmp), another user can leave a symbolic link, pipe or file under the name that
// will be written. The output would then go where that user wants it. Refuse here what Linux
// refuses with fs.protected_symlinks, protected_fifos and protected_regular, whatever their
// settings. Links on the way to the file are checked too.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

namespace unecho {

// Return the problem, as words that follow the file's name, or nothing if the path may be used.
// Entries that belong to `user`, or to the owner of their directory, are allowed.
[[nodiscard]] std::optional<std::string> foreign_owner_problem(const std::string& path, uid_t user);

}  // namespace unecho
