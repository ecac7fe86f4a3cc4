// SPDX-License-Identifier: BSD-3-Clause
// Durations, rates and sizes as text, for readers ("50 ms", "14.88 Mpps", "64 MiB") and as it is
// typed ("50ms"), and back. Durations are whole nanoseconds, rates packets per second, sizes bytes.
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

// Parse a duration such as "50ms" or "50 ms": a decimal number and one of ns, us, ms, s, min, h.
// Return Errc::kInvalidArgument for values that are negative, have no unit, are finer than 1 ns, or
// reach 2^63 ns. Its context says what is allowed.
Result<Nanoseconds> parse_duration(std::string_view text);

// Parse a rate such as "14.88Mpps": a decimal number and one of pps, kpps, Mpps, Gpps.
Result<double> parse_rate(std::string_view text);

// Parse a size such as "64MiB": a decimal number and one of B, kB, MB, GB (powers of 1000), KiB,
// MiB, GiB (powers of 1024). The result must be a whole number of bytes.
Result<std::uint64_t> parse_size(std::string_view text);

// Return the shortest text with up to three decimals, rounded: "50 ms". Exact values parse back
// unchanged.
std::string format_duration(Nanoseconds ns);
std::string format_rate(double packets_per_second);
std::string format_size(std::uint64_t bytes);

// Return one word that parses back unchanged, "1234.567us", as it is typed in configurations and
// options; only a fraction of 1 pps is rounded. Text that other processes compare or keep needs
// this form too: it never changes.
std::string duration_literal(Nanoseconds ns);
std::string rate_literal(double packets_per_second);
std::string size_literal(std::uint64_t bytes);

// Return the count with thousands separators: "1,234,567".
std::string format_count(std::uint64_t count);

// Drop the fraction. Return 0 for values below 0 and for NaN, and the largest number for values
// above it: values computed from sums in foreign input may be anything.
std::uint64_t to_whole(double value);

}  // namespace unecho
