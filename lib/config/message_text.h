// SPDX-License-Identifier: BSD-3-Clause
// Words for messages: quoting, lists of names, the nearest known name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace unecho::config {

// "text" in quotes, escaped (base/utf8.h); long ones are cut, so that a message stays a line.
std::string in_quotes(std::string_view text);

// "a", "b", "c"; at most 16 of them, then "...".
std::string list_in_quotes(std::span<const std::string_view> names);

// The name that takes the fewest changed, added, removed or swapped characters; empty if it takes
// more than half of them.
std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

// "; did you mean "window"?", or nothing.
std::string suggestion(std::string_view word, std::span<const std::string_view> names);

// As format_duration, but whole minutes and hours are written as such, and nothing as "0s".
std::string duration_text(Nanoseconds ns);

// A number in the fewest digits that tell it from its neighbours at six places: "0.5", "1e-06".
std::string number_text(double value);

}  // namespace unecho::config
