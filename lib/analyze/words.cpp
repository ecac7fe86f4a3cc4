// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace unecho::analyze {
namespace {

std::string three_digits(double value) {
    std::array<char, 32> text{};
    const int decimals = value >= 100 || value == 0 ? 0 : (value >= 10 ? 1 : 2);
    std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
    return text.data();
}

constexpr Nanoseconds kHour = 3600 * kSecond;

// "2", "2.5", "49,653"
std::string tenths(Nanoseconds time, Nanoseconds unit) {
    const std::uint64_t value = time / unit * 10 + (time % unit * 10 + unit / 2) / unit;
    const bool whole = value % 10 == 0 || value >= 1000;
    return whole ? format_count((value + 5) / 10)
                 : std::to_string(value / 10) + "." + std::to_string(value % 10);
}

}  // namespace

std::string percent(double share) {
    const double value = 100 * share;
    if (value == 0 || value == 100) {
        return value == 0 ? "0 %" : "100 %";
    }
    std::array<char, 32> text{};
    if (value < 0.01) {
        std::snprintf(text.data(), text.size(), "%.2g %%", value);
        return text.data();
    }
    const int decimals = value >= 99.9 ? 3 : (value >= 10 ? 1 : 2);
    std::snprintf(text.data(), text.size(), "%.*f %%", decimals, std::min(value, 99.999));
    return text.data();
}

std::string brief(Nanoseconds time) {
    if (time >= kHour) {
        return time < 48 * kHour ? tenths(time, kHour) + "h" : tenths(time, 24 * kHour) + " days";
    }
    Nanoseconds unit = 1;
    while (time / unit >= 1000) {
        unit *= 10;
    }
    return format_duration((time + unit / 2) / unit * unit);
}

std::string counted(std::uint64_t count, std::string_view what) {
    return format_count(count) + " " + std::string(what) +
           (count == 1               ? ""
            : what.ends_with("echo") ? "es"
                                     : "s");
}

std::string brief_bytes(std::uint64_t bytes) {
    static constexpr std::array kUnits{"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 999.5) {
        value /= 1000;
        ++unit;
    }
    return (unit == 0 ? std::to_string(bytes) : three_digits(value)) + " " + kUnits.at(unit);
}

std::string date(Nanoseconds since_1970) {
    const auto seconds = static_cast<std::time_t>(since_1970 / kSecond);
    std::tm parts{};
    std::array<char, 64> text{};
    if (gmtime_r(&seconds, &parts) == nullptr) {
        return "?";
    }
    std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
    return text.data();
}

std::string wrapped(std::string_view text, std::string_view indent) {
    constexpr std::size_t kColumns = 96;
    std::string out;
    std::string line(indent);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        if (line.size() > indent.size() && line.size() + 1 + word.size() > kColumns) {
            out += line + "\n";
            line = indent;
        }
        line += (line.size() > indent.size() ? " " : "") + std::string(word);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return line.size() > indent.size() ? out + line + "\n" : out;
}

std::string bar(double share, std::size_t width) {
    const double marks = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
    const auto whole = static_cast<std::size_t>(std::round(marks));
    return std::string(share > 0 ? std::max<std::size_t>(whole, 1) : 0, '#');
}

}  // namespace unecho::analyze
