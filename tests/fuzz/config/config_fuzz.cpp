// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a configuration. Loading ends without a fault, and each problem names a line of the
// text and a key, in words without control characters.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/load.h"

namespace {

bool printable(const std::string& text) {
    return !text.empty() && std::none_of(text.begin(), text.end(),
                                         [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

void check(bool condition) {
    if (!condition) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto result = unecho::config::load_text(text, "fuzz.toml");
    if (result) {
        check(!result->ports.empty() && !result->filters.empty() && !result->routes.empty());
        return 0;
    }
    const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
    check(!result.error().empty());
    for (const unecho::config::Problem& problem : result.error()) {
        check(problem.line <= lines);
        check(problem.line >= 1 || (problem.line == 0 && problem.key == "file"));
        check(printable(problem.key) && printable(problem.message));
    }
    return 0;
}
