// SPDX-License-Identifier: BSD-3-Clause
// A date and time as editcap -A and -B take it: "2026-01-02T03:04:05.678Z", with +01:00, +0100 or
// +01 for Z, without one in local time; or seconds since 1970, "1767323045.678". Up to nine digits
// of fraction. What editcap overlooks is refused: text behind it, days and hours that do not exist.
#pragma once

#include <string>

#include "base/units.h"

namespace unecho::offline {

// Since 1970. Errc::kInvalidArgument, with what is allowed.
Result<Nanoseconds> parse_date_time(const std::string& text);

}  // namespace unecho::offline
