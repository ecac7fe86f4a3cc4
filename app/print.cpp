// SPDX-License-Identifier: BSD-3-Clause
#include "print.h"

#include <span>

#include <nlohmann/json.hpp>

#include "base/memory_reserve.h"
#include "capture/output.h"
#include "capture/standard_streams.h"

namespace unecho::app {

Status write_file(const std::string& path, const std::string& text) {
    auto file = capture::Output::create(path);
    if (!file) {
        return tl::unexpected(file.error());
    }
    if (Status status = (*file)->write(std::as_bytes(std::span(text))); !status) {
        return status;
    }
    return (*file)->close();
}

Status print(const std::string& text) {
    return write_file(capture::kStandardStream, text);
}

Status print_json(const std::function<nlohmann::ordered_json()>& make) {
    const MemoryReserve reserve;
    return print(make().dump(1) + "\n");
}

}  // namespace unecho::app
