// SPDX-License-Identifier: BSD-3-Clause
#include "captures/view/html/text.h"

#include <algorithm>
#include <cmath>

#include "base/humanize.h"
#include "base/utf8.h"

namespace unecho::view {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string_view replacement_of(char c) {
    switch (c) {
        case '&':
            return "&amp;";
        case '<':
            return "&lt;";
        case '>':
            return "&gt;";
        case '"':
            return "&quot;";
        case '\'':
            return "&#39;";
        default:
            return {};
    }
}

}  // namespace

std::string escape(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
        const bool control =
            character != "\n" && character != "\t" && printable(character) != character;
        if (length == 0 || control) {
            out += kReplacement;
        } else if (const auto safe = replacement_of(text[0]); !safe.empty()) {
            out += safe;
        } else {
            out += character;
        }
        text.remove_prefix(character.size());
    }
    return out;
}

std::string coordinate(double value) {
    std::string text = std::isfinite(value) ? format_number("%.2f", value) : "0.00";
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') {
        text.pop_back();
    }
    return text == "-0" ? "0" : text;
}

}  // namespace unecho::view
