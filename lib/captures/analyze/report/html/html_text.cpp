// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/html/html_text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/humanize.h"
#include "base/utf8.h"

namespace unecho::analyze {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kNoBreak = "\xC2\xA0";

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

std::string without_zeros(std::string text) {
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') {
            text.pop_back();
        }
    }
    return text == "-0" ? "0" : text;
}

// Return three significant digits of a value below about 1000.
std::string three_digits(double value) {
    const char* format = value >= 99.95 ? "%.0f" : value >= 9.995 ? "%.1f" : "%.2f";
    return without_zeros(format_number(format, value));
}

std::string with_unit(const std::string& number, std::string_view unit) {
    return number + std::string(kNoBreak) + std::string(unit);
}

struct Unit {
    double size;
    std::string_view name;
};

// Return the value in the largest unit in which it is at least 1 after rounding. units: rising.
template <std::size_t N>
std::string scaled(double value, const std::array<Unit, N>& units) {
    std::size_t i = 0;
    while (i + 1 < N && value / units[i].size >= 999.5) {
        ++i;
    }
    return with_unit(three_digits(value / units[i].size), units[i].name);
}

// Replace spaces by no-break spaces.
std::string unbroken(const std::string& text) {
    std::string out;
    for (const char c : text) {
        out += c == ' ' ? std::string(kNoBreak) : std::string(1, c);
    }
    return out;
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

std::string count_text(std::uint64_t count) {
    return format_count(count);
}

std::string count_text(std::uint64_t count, std::string_view unit) {
    return with_unit(count_text(count), unit) + (count == 1 ? "" : "s");
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
    if (part == 0 || whole == 0) {
        return with_unit("0", "%");
    }
    if (part >= whole) {
        return with_unit("100", "%");
    }
    const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
    if (percent < 0.001) {
        return with_unit("under 0.001", "%");
    }
    if (percent >= 99.95) {
        return with_unit("over 99.9", "%");
    }
    const char* format = percent >= 1 ? "%.1f" : percent >= 0.1 ? "%.2f" : "%.3f";
    return with_unit(without_zeros(format_number(format, percent)), "%");
}

std::string bytes_text(std::uint64_t bytes) {
    static constexpr std::array<Unit, 5> kUnits{
        {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}}};
    return scaled(static_cast<double>(bytes), kUnits);
}

std::string duration_text(Nanoseconds duration) {
    static constexpr std::array<Unit, 4> kUnits{
        {{1, "ns"}, {1e3, "\xC2\xB5s"}, {1e6, "ms"}, {1e9, "s"}}};
    const std::uint64_t seconds = (duration + kSecond / 2) / kSecond;
    if (seconds < 60) {
        return scaled(static_cast<double>(duration), kUnits);
    }
    if (seconds < 3600) {
        return unbroken(two_units(seconds, 60, "min", "s"));
    }
    if (seconds < 48 * 3600) {
        return unbroken(two_units(seconds / 60, 60, "h", "min"));
    }
    return unbroken(two_units(seconds / 3600, 24, "d", "h"));
}

std::string packet_rate_text(double per_second) {
    static constexpr std::array<Unit, 4> kUnits{
        {{1, "pps"}, {1e3, "kpps"}, {1e6, "Mpps"}, {1e9, "Gpps"}}};
    return scaled(per_second, kUnits);
}

std::string bit_rate_text(double per_second) {
    static constexpr std::array<Unit, 5> kUnits{
        {{1, "bit/s"}, {1e3, "kbit/s"}, {1e6, "Mbit/s"}, {1e9, "Gbit/s"}, {1e12, "Tbit/s"}}};
    return scaled(per_second, kUnits);
}

std::string coordinate(double value) {
    return std::isfinite(value) ? without_zeros(format_number("%.2f", value)) : "0";
}

}  // namespace unecho::analyze
