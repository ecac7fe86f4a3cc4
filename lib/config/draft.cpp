// SPDX-License-Identifier: BSD-3-Clause
#include "config/draft.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace unecho::config {
namespace {

// "a.b[2]" -> "a.b" -> "a" -> ""
std::string_view parent_of(std::string_view path) {
    const std::size_t cut = path.find_last_of(".[");
    return cut == std::string_view::npos ? std::string_view{} : path.substr(0, cut);
}

}  // namespace

void Draft::place(const std::string& path, int line) {
    lines_.insert_or_assign(path, line);
}

bool Draft::given(const std::string& path) const {
    return lines_.contains(path);
}

int Draft::line_of(std::string_view path) const {
    for (; !path.empty(); path = parent_of(path)) {
        if (const auto found = lines_.find(path); found != lines_.end()) {
            return found->second;
        }
    }
    return 1;
}

void Draft::report(const std::string& path, std::string_view message) {
    distrust(path);
    problems_.push_back({line_of(path), path, escaped(message)});
}

void Draft::distrust(const std::string& path) {
    unsound_.insert(path);
    if (path.ends_with(']')) {
        unsound_.insert(std::string(parent_of(path)));
    }
}

bool Draft::sound(const std::string& path) const {
    return !unsound_.contains(path);
}

std::vector<Problem> Draft::problems() const {
    std::vector<Problem> sorted = problems_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Problem& a, const Problem& b) { return a.line < b.line; });
    return sorted;
}

std::string element(std::string_view list, std::size_t index) {
    return std::string(list).append("[").append(std::to_string(index)).append("]");
}

std::string key_of(std::string_view list, std::size_t index, std::string_view key) {
    return element(list, index).append(".").append(key);
}

}  // namespace unecho::config
