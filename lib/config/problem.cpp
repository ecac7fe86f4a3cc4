// SPDX-License-Identifier: BSD-3-Clause
#include "config/problem.h"

#include <utility>

#include "base/utf8.h"

namespace unecho::config {

std::string to_text(const std::vector<Problem>& problems, const std::string& path) {
    std::string out;
    for (const Problem& problem : problems) {
        out.append(escaped(path));
        if (problem.line > 0) {
            out.append(":").append(std::to_string(problem.line));
        }
        out.append(": ").append(problem.key).append(": ").append(problem.message).append("\n");
    }
    return out;
}

Error as_error(const std::vector<Problem>& problems, const std::string& path) {
    std::string text = to_text(problems, path);
    if (!text.empty()) {
        text.pop_back();
    }
    return {Errc::kConfig, std::move(text)};
}

}  // namespace unecho::config
