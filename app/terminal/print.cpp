// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/print.h"

#include <span>

#include <nlohmann/json.hpp>

#include "base/os/memory_reserve.h"
#include "base/utf8.h"
#include "captures/output/output.h"
#include "captures/standard_streams.h"

namespace unecho::app {

Status write_file(const std::string& path, const std::string& text) {
    auto file = capture::Output::create(path);
    UNECHO_TRY(file);
    UNECHO_TRY((*file)->write(std::as_bytes(std::span(text))));
    return (*file)->close();
}

Status print(const std::string& text) {
    return write_file(capture::kStandardStream, text);
}

Status print_text(const std::string& text) {
    return print(escaped_lines(text));
}

Status print_json(const std::function<nlohmann::ordered_json()>& make) {
    const MemoryReserve reserve;
    constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
    return print(make().dump(1, ' ', true, kReplace) + "\n");
}

}  // namespace unecho::app
