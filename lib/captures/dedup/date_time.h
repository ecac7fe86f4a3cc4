// SPDX-License-Identifier: BSD-3-Clause
// Dates and times as editcap -A and -B take them: "2026-01-02T03:04:05.678Z", with +01:00, +0100 or
// +01 for Z, or without in local time; or seconds since 1970, "1767323045.678", with up to nine
// digits of fraction. Unlike editcap, refuse trailing text, and days or hours that do not exist.
#pragma once

#include <string>

#include "base/units.h"

namespace unecho::dedup {

// Return the time since 1970. Errc::kInvalidArgument, with what is allowed.
Result<Nanoseconds> parse_date_time(const std::string& text);

}  // namespace unecho::dedup
