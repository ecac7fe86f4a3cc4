// SPDX-License-Identifier: BSD-3-Clause
#include "captures/view/wording.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

namespace unecho::view {
namespace {

// Return the length of the first word; a number and its unit are one.
std::size_t word_length(std::string_view text) {
    static constexpr std::array<std::string_view, 20> kUnits{
        "%",  "ns", "us",  "ms",  "s",   "min", "h",    "B",    "kB",   "MB",
        "GB", "TB", "KiB", "MiB", "GiB", "pps", "kpps", "Mpps", "Gpps", "ppm"};
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end == 0 || end == text.size() || text[end - 1] < '0' || text[end - 1] > '9') {
        return end;
    }
    const std::string_view rest = text.substr(end + 1);
    const std::string_view next = rest.substr(0, rest.find_first_of(" ,.;:)"));
    const bool is_unit = std::find(kUnits.begin(), kUnits.end(), next) != kUnits.end();
    return is_unit ? end + 1 + std::min(rest.find(' '), rest.size()) : end;
}

}  // namespace

std::string date_text(Nanoseconds since_1970) {
    const auto seconds = static_cast<std::time_t>(since_1970 / kSecond);
    std::tm parts{};
    std::array<char, 64> text{};
    if (gmtime_r(&seconds, &parts) == nullptr) {
        return "?";
    }
    std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
    return text.data();
}

std::string wrapped(std::string_view text, std::string_view indent, std::size_t columns) {
    std::string out;
    std::string line(indent);
    while (!text.empty()) {
        const std::size_t end = word_length(text);
        const std::string_view word = text.substr(0, end);
        if (line.size() > indent.size() && line.size() + 1 + word.size() > columns) {
            out += line + "\n";
            line = indent;
        }
        line += (line.size() > indent.size() ? " " : "") + std::string(word);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return line.size() > indent.size() ? out + line + "\n" : out;
}

std::string shell_word(const std::string& path) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=+,@%-";
    std::string out;
    for (const char c : path) {
        out += c == '\'' ? "'\\''" : std::string(1, c);
    }
    const std::string begin = path.starts_with('-') && path.size() > 1 ? "./" : "";
    return begin + (path.find_first_not_of(kPlain) == std::string::npos ? out : "'" + out + "'");
}

std::string bar(double share, std::size_t width) {
    const double marks = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
    const auto whole = static_cast<std::size_t>(std::round(marks));
    return std::string(share > 0 ? std::max<std::size_t>(whole, 1) : 0, '#');
}

}  // namespace unecho::view
