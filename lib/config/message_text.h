// SPDX-License-Identifier: BSD-3-Clause
// Texts for messages: quoting, lists of names, the nearest known name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace unecho::config {

// Return the text in quotes, escaped (base/utf8.h), and cut if it is too long for one line.
std::string in_quotes(std::string_view text);

// Return "a", "b", "c"; at most 16 names, then "...".
std::string list_in_quotes(std::span<const std::string_view> names);

// Return the name with the fewest changed, added, removed or swapped characters; empty if these are
// more than half of the word.
std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

// Return "; did you mean "window"?", or an empty text.
std::string suggestion(std::string_view word, std::span<const std::string_view> names);

// Like duration_literal, but whole minutes and hours are written as such, and zero as "0s".
std::string duration_text(Nanoseconds ns);

// Return a number in the fewest digits that distinguish it at six places: "0.5", "1e-06".
std::string number_text(double value);

}  // namespace unecho::config
