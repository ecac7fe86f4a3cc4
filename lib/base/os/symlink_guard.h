// SPDX-License-Identifier: BSD-3-Clause
// Whether somebody else may have put there what an output's path leads to. In a directory where
// everybody may make files (sticky, as /tmp) another user can leave a symbolic link, a pipe or a
// file under the name that will be written: the output would go where that user wants it. What
// Linux refuses with fs.protected_symlinks, protected_fifos and protected_regular is refused here
// whatever these are set to; links on the way to the file too.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

namespace unecho {

// What is in the way, as words that follow the file's name; nothing if the path may be used. What
// belongs to `user`, or to the owner of the directory that it lies in, may be.
[[nodiscard]] std::optional<std::string> foreign_owner_problem(const std::string& path, uid_t user);

}  // namespace unecho
