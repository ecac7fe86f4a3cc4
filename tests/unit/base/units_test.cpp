// SPDX-License-Identifier: BSD-3-Clause
#include "base/units.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace unecho {
namespace {

std::string quoted(std::string_view text) {
    std::string out("\"");
    return out.append(text).append("\"");
}

// Return the error that `parse` gives for the text.
template <typename Parse>
std::string refusal(Parse parse, std::string_view text) {
    const auto result = parse(text);
    if (result) {
        return "accepted";
    }
    EXPECT_EQ(result.error().code, Errc::kInvalidArgument);
    return result.error().context;
}

// Check that `parse` gives each value for its text.
template <typename Parse, typename Value>
void expect_values(Parse parse, const std::vector<std::pair<std::string_view, Value>>& cases) {
    for (const auto& [text, expected] : cases) {
        const auto value = parse(text);
        ASSERT_TRUE(value.has_value()) << text << ": " << value.error().context;
        EXPECT_EQ(*value, expected) << text;
    }
}

template <typename Parse>
void expect_refused(Parse parse, const std::vector<std::string_view>& texts,
                    const std::string& why) {
    for (const std::string_view text : texts) {
        EXPECT_EQ(refusal(parse, text), quoted(text) + why);
    }
}

// --- Durations ---

TEST(parse_duration, each_unit_scales_exactly) {
    expect_values<decltype(parse_duration), Nanoseconds>(
        parse_duration, {{"7ns", 7},
                         {"7us", 7'000},
                         {"7ms", 7'000'000},
                         {"7s", 7'000'000'000},
                         {"7min", 420'000'000'000},
                         {"7h", 25'200'000'000'000},
                         {"0s", 0},
                         {"1.5ms", 1'500'000},
                         {"0.000000001s", 1},
                         {"2.500us", 2'500},
                         {"0050ms", 50'000'000},
                         {"50 ms", 50'000'000},
                         {"0.3s", 300'000'000},  // no exact double
                         {"1234567890.123456789s", 1'234'567'890'123'456'789U},
                         {"2562047.788h", 9'223'372'036'800'000'000U},
                         {"9223372036854775807ns", 9'223'372'036'854'775'807U}});
}

TEST(parse_duration, what_is_none_or_too_fine_or_too_long_is_refused) {
    expect_refused(parse_duration,
                   {"9223372036854775808ns", "9999999999999999999h", "0.5ns", "1.0000001ms"},
                   " is finer than 1 ns or longer than 292 years");
    expect_refused(parse_duration,
                   {"",      "50",     "ms",      "-5ms",    "+5ms",
                    "5e1ms", "0x10ms", "1.2.3ms", ".5s",     "5.s",
                    "5 m",   "5d",     "5MS",     " 5ms",    "5ms ",
                    "5,5ms", "5msms",  "nan s",   "1 000ms", "12345678901234567890ns"},
                   " is not a duration; allowed: a number with ns, us, ms, s, min or h, as in "
                   "\"50ms\"");
}

TEST(format_duration, takes_the_largest_unit_and_parses_back) {
    for (const auto& [value, expected] :
         std::vector<std::pair<Nanoseconds, std::string>>{{0, "0 ns"},
                                                          {999, "999 ns"},
                                                          {1'000, "1 us"},
                                                          {1'500'000'000, "1.5 s"},
                                                          {90'000'000'000, "90 s"},
                                                          {1'234'567, "1.235 ms"},
                                                          {1'000'400, "1 ms"},
                                                          {999'999'500, "1 s"},
                                                          {999'999'499, "999.999 ms"},
                                                          {999'999'999'999, "1000 s"}}) {
        EXPECT_EQ(format_duration(value), expected);
    }
    for (Nanoseconds scale = 1; scale <= kSecond; scale *= 1000) {
        for (Nanoseconds value = 1; value < 1000; ++value) {
            EXPECT_EQ(parse_duration(format_duration(value * scale)).value_or(0), value * scale);
        }
    }
    for (const Nanoseconds ns : {1'001ULL, 999'999ULL, 1'001'000ULL, 123'456'000ULL,
                                 86'400'000'000'000ULL, 31'536'000'000'000'000ULL}) {
        EXPECT_EQ(parse_duration(format_duration(ns)).value_or(0), ns) << format_duration(ns);
    }
}

// --- Rates ---

TEST(parse_rate, each_unit_scales) {
    expect_values<decltype(parse_rate), double>(parse_rate,
                                                {{"7pps", 7},
                                                 {"7kpps", 7e3},
                                                 {"7Mpps", 7e6},
                                                 {"7Gpps", 7e9},
                                                 {"0.5pps", 0.5},
                                                 {"14.88Mpps", 14'880'000},
                                                 {"0pps", 0},
                                                 {"1.5 kpps", 1500},
                                                 {"17592.1Gpps", 17'592'100'000'000.0}});
}

// The result is the nearest double of the number written out in packets per second.
TEST(parse_rate, decimals_are_rounded_once) {
    for (std::uint64_t n = 1; n < 20'000; n += 7) {
        const std::string whole = std::to_string(n);
        EXPECT_EQ(parse_rate(whole + ".1Gpps").value_or(0), static_cast<double>(n * 10 + 1) * 1e8);
        EXPECT_EQ(parse_rate(whole + ".23Mpps").value_or(0),
                  static_cast<double>(n * 100 + 23) * 1e4);
        EXPECT_EQ(parse_rate(whole + ".456kpps").value_or(0), static_cast<double>(n * 1000 + 456));
    }
}

TEST(parse_rate, bad_texts_name_what_is_allowed) {
    expect_refused(parse_rate,
                   {"", "10", "pps", "-1pps", "1e6pps", "10mpps", "10 M", "10Kpps", "10Mp/s",
                    "1..5Mpps", "10Mpps ", "10Mbps"},
                   " is not a rate; allowed: a number with pps, kpps, Mpps or Gpps, as in "
                   "\"14.88Mpps\"");
}

TEST(format_rate, takes_the_largest_unit_and_parses_back) {
    for (const auto& [value, expected] :
         std::vector<std::pair<double, std::string>>{{0, "0 pps"},
                                                     {0.5, "0.5 pps"},
                                                     {999, "999 pps"},
                                                     {1'500, "1.5 kpps"},
                                                     {148'809'523, "148.81 Mpps"},
                                                     {999'999.9, "1 Mpps"},
                                                     {1e12, "1000 Gpps"}}) {
        EXPECT_EQ(format_rate(value), expected);
    }
    for (std::uint64_t thousandths = 1; thousandths < 1'000'000; thousandths += 37) {
        const double rate = static_cast<double>(thousandths) * 1e3;
        EXPECT_EQ(parse_rate(format_rate(rate)).value_or(0), rate) << format_rate(rate);
    }
}

// --- Sizes ---

TEST(parse_size, each_unit_scales) {
    expect_values<decltype(parse_size), std::uint64_t>(
        parse_size, {{"7B", 7},
                     {"7kB", 7'000},
                     {"7MB", 7'000'000},
                     {"7GB", 7'000'000'000},
                     {"7KiB", 7'168},
                     {"7MiB", 7'340'032},
                     {"7GiB", 7'516'192'768},
                     {"1.5KiB", 1'536},
                     {"64 MiB", 67'108'864},
                     {"0B", 0},
                     {"9223372036854775807B", 9'223'372'036'854'775'807},
                     {"8589934591GiB", 9'223'372'035'781'033'984U}});
}

TEST(parse_size, what_is_none_or_no_whole_number_or_too_large_is_refused) {
    expect_refused(parse_size, {"0.1KiB", "0.5B", "8589934592GiB"},
                   " is not a whole number of bytes below 2^63");
    expect_refused(
        parse_size,
        {"", "64", "MiB", "-1MiB", "64Mib", "64mb", "64M", "64MiB ", "1,5MiB", "64KB", "1.MiB"},
        " is not a size; allowed: a number with B, kB, MB, GB, KiB, MiB or GiB, as in "
        "\"64MiB\"");
}

TEST(format_size, takes_the_largest_binary_unit_and_parses_back) {
    for (const auto& [value, expected] :
         std::vector<std::pair<std::uint64_t, std::string>>{{0, "0 B"},
                                                            {1023, "1023 B"},
                                                            {1024, "1 KiB"},
                                                            {1536, "1.5 KiB"},
                                                            {1'048'575, "1023.999 KiB"},
                                                            {1'073'741'823, "1 GiB"},
                                                            {std::uint64_t{1} << 40, "1024 GiB"}}) {
        EXPECT_EQ(format_size(value), expected);
    }
    for (std::uint64_t mebibytes = 1; mebibytes < 5'000; mebibytes += 3) {
        const std::uint64_t size = mebibytes << 20;
        if (mebibytes < 1024 || mebibytes % 128 == 0) {  // three decimals suffice for these
            EXPECT_EQ(parse_size(format_size(size)).value_or(0), size) << format_size(size);
        }
    }
}

// Configurations, options and kept state have this form.
TEST(Units, literals_are_one_word) {
    EXPECT_EQ(duration_literal(50 * kMillisecond), "50ms");
    EXPECT_EQ(duration_literal(90 * kSecond), "90s");
    EXPECT_EQ(rate_literal(14'880'000), "14.88Mpps");
    EXPECT_EQ(size_literal(std::uint64_t{64} << 20), "64MiB");
}

TEST(Units, literals_lose_nothing) {
    EXPECT_EQ(duration_literal(1'234'567), "1234.567us");
    EXPECT_EQ(duration_literal(1'235'000), "1.235ms");
    EXPECT_EQ(rate_literal(1'234'567), "1234.567kpps");
    EXPECT_EQ(size_literal(1536), "1.5KiB");
    EXPECT_EQ(size_literal(1'000'001), "1000001B");
    for (std::uint64_t value = 1; value < std::uint64_t{1} << 50; value += value / 3 + 1) {
        EXPECT_EQ(*parse_duration(duration_literal(value)), value);
        EXPECT_EQ(*parse_rate(rate_literal(static_cast<double>(value))),
                  static_cast<double>(value));
        EXPECT_EQ(*parse_size(size_literal(value)), value);
    }
}

TEST(Units, counts_are_grouped_by_three) {
    EXPECT_EQ(format_count(0), "0");
    EXPECT_EQ(format_count(999), "999");
    EXPECT_EQ(format_count(1000), "1,000");
    EXPECT_EQ(format_count(1'234'567), "1,234,567");
    EXPECT_EQ(format_count(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(Units, numbers_become_whole_wherever_they_lie) {
    EXPECT_EQ(to_whole(1.9), 1U);
    EXPECT_EQ(to_whole(0.9), 0U);
    EXPECT_EQ(to_whole(-1), 0U);
    EXPECT_EQ(to_whole(-1e300), 0U);
    EXPECT_EQ(to_whole(NAN), 0U);
    EXPECT_EQ(to_whole(0x1.fffffffffffffp63), 0xFFFF'FFFF'FFFF'F800U);
    EXPECT_EQ(to_whole(0x1p64), UINT64_MAX);
    EXPECT_EQ(to_whole(INFINITY), UINT64_MAX);
}

}  // namespace
}  // namespace unecho
