// SPDX-License-Identifier: BSD-3-Clause
#include "base/units.h"

#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "base/humanize.h"
#include "base/int128.h"

namespace unecho {
namespace {

struct Unit {
    std::string_view name;
    double scale;
};

constexpr std::array kDurations{Unit{"ns", 1},     Unit{"us", 1e3}, Unit{"ms", 1e6},
                                Unit{"min", 60e9}, Unit{"s", 1e9},  Unit{"h", 3600e9}};
constexpr std::array kRates{Unit{"Gpps", 1e9}, Unit{"Mpps", 1e6}, Unit{"kpps", 1e3},
                            Unit{"pps", 1}};
constexpr std::array kSizes{Unit{"KiB", 1024.0},
                            Unit{"MiB", 1024.0 * 1024},
                            Unit{"GiB", 1024.0 * 1024 * 1024},
                            Unit{"kB", 1e3},
                            Unit{"MB", 1e6},
                            Unit{"GB", 1e9},
                            Unit{"B", 1}};

// The units of formatted values, in ascending order.
constexpr std::array kDurationsOut{Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}};
constexpr std::array kRatesOut{Unit{"pps", 1}, Unit{"kpps", 1e3}, Unit{"Mpps", 1e6},
                               Unit{"Gpps", 1e9}};
constexpr std::array kSizesOut{Unit{"B", 1}, Unit{"KiB", 1024.0}, Unit{"MiB", 1024.0 * 1024},
                               Unit{"GiB", 1024.0 * 1024 * 1024}};

struct Number {
    std::uint64_t digits;  // all digits as one integer
    unsigned decimals;     // how many of the digits follow the point
};

// Any 19 digits fit into 64 bits, and their value in the smallest unit into 128 bits.
constexpr unsigned kMaxDigits = 19;

// Parse "12.34" to {1234, 2}. No signs or exponents: nobody writes a window as 5e-2s.
bool parse_number(std::string_view text, Number& out) {
    out = {0, 0};
    bool point = false;
    unsigned count = 0;
    for (char c : text) {
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9' || ++count > kMaxDigits) {
            return false;
        }
        out.digits = out.digits * 10 + static_cast<std::uint64_t>(c - '0');
        out.decimals += point ? 1 : 0;
    }
    return count > 0 && text.back() != '.' && text.front() != '.';
}

const Unit* split_unit(std::string_view text, std::span<const Unit> units,
                       std::string_view& number) {
    for (const Unit& unit : units) {
        if (text.size() > unit.name.size() && text.ends_with(unit.name)) {
            std::string_view rest = text.substr(0, text.size() - unit.name.size());
            while (!rest.empty() && rest.back() == ' ') {
                rest.remove_suffix(1);
            }
            if (!rest.empty() && rest.back() >= '0' && rest.back() <= '9') {
                number = rest;
                return &unit;
            }
        }
    }
    return nullptr;
}

// Return true, with the value in the base unit, if it is a whole number there and below 2^63.
bool whole(const Number& n, double scale, std::uint64_t& out) {
    std::uint64_t divisor = 1;
    for (unsigned i = 0; i < n.decimals; ++i) {
        divisor *= 10;
    }
    const auto product = static_cast<uint128>(n.digits) * static_cast<std::uint64_t>(scale);
    if (product % divisor != 0 || product / divisor >= (std::uint64_t{1} << 63)) {
        return false;
    }
    out = static_cast<std::uint64_t>(product / divisor);
    return true;
}

constexpr double kThousandths = 1000;

std::string number_with(double value, std::string_view space, std::string_view unit) {
    std::string out = format_number("%.3f", value);
    out.erase(out.find_last_not_of('0') + 1);
    if (out.back() == '.') {
        out.pop_back();
    }
    return out.append(space).append(unit);
}

// Use the largest unit that leaves a rounded value of at least 1, with up to three decimals.
std::string format_scaled(double value, std::span<const Unit> ascending) {
    const Unit* best = &ascending.front();
    for (const Unit& unit : ascending) {
        const double rounded = std::round(value / best->scale * kThousandths) / kThousandths;
        if (rounded * best->scale >= unit.scale) {
            best = &unit;
        }
    }
    return number_with(value / best->scale, " ", best->name);
}

// Use the largest unit in which the value is at least 1 and needs no more than three decimals. A
// fraction of the smallest unit is rounded.
std::string exact_scaled(double value, std::span<const Unit> ascending) {
    const Unit* best = &ascending.front();
    for (const Unit& unit : ascending) {
        const double thousandths = std::round(value / unit.scale * kThousandths);
        if (value >= unit.scale && thousandths * unit.scale / kThousandths == value) {
            best = &unit;
        }
    }
    return number_with(value / best->scale, "", best->name);
}

}  // namespace

Result<Nanoseconds> parse_duration(std::string_view text) {
    std::string_view digits;
    Number number{};
    std::uint64_t value = 0;
    const Unit* unit = split_unit(text, kDurations, digits);
    if (unit == nullptr || !parse_number(digits, number)) {
        return fail(Errc::kInvalidArgument,
                    in_quotes(text) +
                        " is not a duration; allowed: a number with ns, us, ms, s, min "
                        "or h, as in \"50ms\"");
    }
    if (!whole(number, unit->scale, value)) {
        return fail(Errc::kInvalidArgument,
                    in_quotes(text) + " is finer than 1 ns or longer than 292 years");
    }
    return value;
}

Result<double> parse_rate(std::string_view text) {
    std::string_view digits;
    Number number{};
    const Unit* unit = split_unit(text, kRates, digits);
    if (unit == nullptr || !parse_number(digits, number)) {
        return fail(Errc::kInvalidArgument,
                    in_quotes(text) +
                        " is not a rate; allowed: a number with pps, kpps, Mpps or "
                        "Gpps, as in \"14.88Mpps\"");
    }
    // Powers of ten up to 10^22 are exact, so the result is rounded only once.
    const double divisor = std::pow(10.0, number.decimals);
    const auto value = static_cast<double>(number.digits);
    return divisor < unit->scale ? value * (unit->scale / divisor)
                                 : value / (divisor / unit->scale);
}

Result<std::uint64_t> parse_size(std::string_view text) {
    std::string_view digits;
    Number number{};
    std::uint64_t value = 0;
    const Unit* unit = split_unit(text, kSizes, digits);
    if (unit == nullptr || !parse_number(digits, number)) {
        return fail(Errc::kInvalidArgument,
                    in_quotes(text) +
                        " is not a size; allowed: a number with B, kB, MB, GB, KiB, "
                        "MiB or GiB, as in \"64MiB\"");
    }
    if (!whole(number, unit->scale, value)) {
        return fail(Errc::kInvalidArgument,
                    in_quotes(text) + " is not a whole number of bytes below 2^63");
    }
    return value;
}

std::string format_duration(Nanoseconds ns) {
    return format_scaled(static_cast<double>(ns), kDurationsOut);
}

std::string format_rate(double packets_per_second) {
    return format_scaled(packets_per_second, kRatesOut);
}

std::string format_size(std::uint64_t bytes) {
    return format_scaled(static_cast<double>(bytes), kSizesOut);
}

std::string duration_literal(Nanoseconds ns) {
    return exact_scaled(static_cast<double>(ns), kDurationsOut);
}

std::string rate_literal(double packets_per_second) {
    return exact_scaled(packets_per_second, kRatesOut);
}

std::string size_literal(std::uint64_t bytes) {
    return exact_scaled(static_cast<double>(bytes), kSizesOut);
}

std::string format_count(std::uint64_t count) {
    std::string text = std::to_string(count);
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, ",");
    }
    return text;
}

std::uint64_t to_whole(double value) {
    constexpr double kBeyond = 18446744073709551616.0;  // 2^64
    if (value >= kBeyond) {
        return std::numeric_limits<std::uint64_t>::max();
    }
    return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

}  // namespace unecho
