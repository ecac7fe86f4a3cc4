// SPDX-License-Identifier: BSD-3-Clause
// Durations, rates and sizes as people write them ("50ms", "14.88Mpps", "64MiB") and back.
// Durations are whole nanoseconds, rates packets per second, sizes bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace unecho {

using Nanoseconds = std::uint64_t;

inline constexpr Nanoseconds kMicrosecond = 1'000;
inline constexpr Nanoseconds kMillisecond = 1'000'000;
inline constexpr Nanoseconds kSecond = 1'000'000'000;

// "50ms": a decimal number and one of ns, us, ms, s, min, h. Finer than 1 ns, negative, without a
// unit or beyond 2^63 ns: Errc::kInvalidArgument, whose context says what is allowed.
Result<Nanoseconds> parse_duration(std::string_view text);

// "14.88Mpps": a decimal number and one of pps, kpps, Mpps, Gpps.
Result<double> parse_rate(std::string_view text);

// "64MiB": a decimal number and one of B, kB, MB, GB (powers of 1000), KiB, MiB, GiB (of 1024);
// must come out as whole bytes.
Result<std::uint64_t> parse_size(std::string_view text);

// The shortest text with at most three decimals, rounded; exact values parse back to themselves.
std::string format_duration(Nanoseconds ns);
std::string format_rate(double packets_per_second);
std::string format_size(std::uint64_t bytes);

// "1,234,567"
std::string format_count(std::uint64_t count);

// Drop the fraction. Below 0, and for NaN, return 0; above the largest number return that: what is
// computed of sums that somebody else wrote may be anything.
std::uint64_t to_whole(double value);

}  // namespace unecho
