// SPDX-License-Identifier: BSD-3-Clause
// Small pieces of HTML that several parts of the report's page are made of. What they are given is
// HTML already, unless it says text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// The pattern with each {} replaced by the next value. There are as many of the one as of the
// other.
std::string fill(std::string_view pattern, std::initializer_list<std::string> values);

// A figure of the report with the name that it has in the JSON ("echoes.packets"), so that what is
// shown can be compared.
std::string figure(std::string_view name, std::uint64_t value, const std::string& text);
std::string figure(std::string_view name, std::uint64_t value);  // as count_text

// <section id><h2>title</h2> content</section>
std::string section(std::string_view id, std::string_view title, const std::string& content);

std::string paragraph(const std::string& content);
std::string fact(std::string_view name, const std::string& value);  // of a <dl>

// A bar of two parts, shares of its full length.
std::string meter(double first, double second = 0);

// A table that scrolls by itself where it is too wide: the columns' names, as text, and rows.
std::string table(std::initializer_list<std::string_view> names, const std::string& rows);

// A table's row: the first cell is its heading, the others are right-aligned numbers.
std::string row(std::initializer_list<std::string> cells);
// "And 3 others with fewer packets.", or nothing.
std::string others(std::size_t count, std::string_view with_what);

// What is counted where copies and what was sent again are not told apart; nothing where all echoes
// are copies.
std::string both(const Report& report);

}  // namespace unecho::analyze
