// SPDX-License-Identifier: BSD-3-Clause
#include "captures/warning_list.h"

#include <algorithm>

#include "base/units.h"
#include "base/utf8.h"

namespace unecho::capture {
namespace {

constexpr std::size_t kMaxKinds = 64;
constexpr std::string_view kMore = "more kinds of trouble, not listed";

}  // namespace

void WarningList::add(std::uint64_t number, std::string_view text, bool incomplete) {
    const auto find = [this](std::string_view wanted) {
        return std::find_if(list_.begin(), list_.end(),
                            [&](const Warning& known) { return known.text == wanted; });
    };
    auto known = find(text);
    if (known == list_.end() && list_.size() >= kMaxKinds) {
        text = kMore;
        known = find(text);
    }
    if (known != list_.end()) {
        ++known->times;
        known->incomplete = known->incomplete || incomplete;
        return;
    }
    list_.push_back({.file = 0,
                     .number = number,
                     .times = 1,
                     .text = std::string(text),
                     .incomplete = incomplete});
}

std::string warning_text(const Warning& warning, const std::vector<std::string>& inputs) {
    std::string text = warning.file < inputs.size() ? escaped(inputs[warning.file]) + ": " : "";
    if (warning.number != 0) {
        text += "packet " + std::to_string(warning.number) + ": ";
    }
    text += warning.text;
    return warning.times > 1 ? text + " (" + format_count(warning.times) + " times)" : text;
}

}  // namespace unecho::capture
