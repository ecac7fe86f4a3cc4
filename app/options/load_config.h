// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/result.h"
#include "config/load.h"

namespace unecho::app {

// Return the file's configuration, or all of its problems as one error.
inline Result<config::Config> load_config(const std::string& path) {
    auto loaded = config::load_file(path);
    if (!loaded) {
        return tl::unexpected(config::as_error(loaded.error(), path));
    }
    return std::move(*loaded);
}

}  // namespace unecho::app
