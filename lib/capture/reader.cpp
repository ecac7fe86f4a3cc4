// SPDX-License-Identifier: BSD-3-Clause
#include "capture/reader.h"

#include <utility>

#include "capture/input.h"

namespace unecho::capture {

Result<std::unique_ptr<Source>> open_capture(const std::string& path) {
    auto stream = open_file(path);
    if (!stream) {
        return tl::unexpected(stream.error());
    }
    return open_input(*std::move(stream), name_of_input(path));
}

}  // namespace unecho::capture
