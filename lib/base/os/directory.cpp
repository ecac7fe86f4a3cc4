// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/directory.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include <dirent.h>

namespace unecho {
namespace {

struct Close {
    void operator()(DIR* folder) const noexcept { closedir(folder); }
};

}  // namespace

tl::expected<std::vector<std::string>, int> list_directory(const std::string& folder) {
    const std::unique_ptr<DIR, Close> open(opendir(folder.c_str()));
    if (open == nullptr) {
        return tl::unexpected<int>(errno);
    }
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = readdir(open.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") {
            names.emplace_back(name);
        }
        errno = 0;
    }
    if (errno != 0) {
        return tl::unexpected<int>(errno);
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace unecho
