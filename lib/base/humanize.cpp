// SPDX-License-Identifier: BSD-3-Clause
#include "base/humanize.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>

namespace unecho {
namespace {

std::string three_digits(double value) {
    return format_number(value >= 100 || value == 0 ? "%.0f"
                         : value >= 10              ? "%.1f"
                                                    : "%.2f",
                         value);
}

constexpr std::uint64_t kMinute = 60;  // seconds
constexpr std::uint64_t kHour = 60 * kMinute;
constexpr std::uint64_t kDay = 24 * kHour;

// "2 days", "2.5 days", "49,653 days"
std::string days(std::uint64_t seconds) {
    const std::uint64_t tenths = (seconds * 10 + kDay / 2) / kDay;
    const bool whole = tenths % 10 == 0 || tenths >= 1000;
    return (whole ? format_count((tenths + 5) / 10)
                  : std::to_string(tenths / 10) + "." + std::to_string(tenths % 10)) +
           " days";
}

}  // namespace

std::string percent(double share) {
    const double value = 100 * share;
    if (value == 0 || value == 100) {
        return value == 0 ? "0 %" : "100 %";
    }
    if (value < 0.001) {
        return "under 0.001 %";
    }
    if (value < 0.01) {
        return format_number("%.2g %%", value);
    }
    const char* format = value >= 99.9 ? "%.3f %%" : value >= 10 ? "%.1f %%" : "%.2f %%";
    return format_number(format, std::min(value, 99.999));
}

std::string brief_duration(Nanoseconds time) {
    const std::uint64_t seconds = time / kSecond + (time % kSecond + kSecond / 2) / kSecond;
    if (seconds < kMinute) {
        Nanoseconds unit = 1;
        while (time / unit >= 1000) {
            unit *= 10;
        }
        return format_duration((time + unit / 2) / unit * unit);
    }
    if (seconds < kHour) {
        return two_units(seconds, kMinute, "min", "s");
    }
    const std::uint64_t minutes = (seconds + kMinute / 2) / kMinute;
    return minutes < 2 * kDay / kMinute ? two_units(minutes, kMinute, "h", "min") : days(seconds);
}

std::string format_quantity(std::uint64_t count, std::string_view what) {
    std::string out = format_count(count) + " " + std::string(what);
    if (count != 1 && what.ends_with("copy")) {
        return out.erase(out.size() - 1) + "ies";
    }
    return out + (count == 1 ? "" : what.ends_with("echo") ? "es" : "s");
}

std::string brief_size(std::uint64_t bytes) {
    static constexpr std::array kUnits{"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 999.5) {
        value /= 1000;
        ++unit;
    }
    return (unit == 0 ? std::to_string(bytes) : three_digits(value)) + " " + kUnits.at(unit);
}

std::string traffic(std::uint64_t wire, std::uint64_t captured) {
    return brief_size(wire) + " on the wire, " + brief_size(captured) + " captured";
}

std::string format_number(const char* format, ...) {
    std::array<char, 64> text{};
    std::va_list values;
    va_start(values, format);
    std::vsnprintf(text.data(), text.size(), format, values);
    va_end(values);
    return text.data();
}

std::string spaced(std::string_view name) {
    std::string words(name);
    std::replace(words.begin(), words.end(), '_', ' ');
    return words;
}

std::string in_quotes(std::string_view text) {
    return std::string(1, '"').append(text).append("\"");
}

std::string two_units(std::uint64_t small, std::uint64_t in_large, std::string_view large_name,
                      std::string_view small_name) {
    const auto with_unit = [](const std::string& count, std::string_view unit) {
        return count + " " + std::string(unit);
    };
    const std::uint64_t rest = small % in_large;
    return with_unit(format_count(small / in_large), large_name) +
           (rest == 0 ? "" : " " + with_unit(std::to_string(rest), small_name));
}

}  // namespace unecho
