// SPDX-License-Identifier: BSD-3-Clause
// Building blocks of the report's page. Arguments are HTML already, unless they are said to be
// text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// Return the pattern with each {} replaced by the next value. There must be as many values as {}.
std::string fill(std::string_view pattern, std::initializer_list<std::string> values);

// Return a figure of the report with its name in the JSON ("echoes.packets"), so that the page can
// be compared with the JSON.
std::string figure(std::string_view name, std::uint64_t value, const std::string& text);
std::string figure(std::string_view name, std::uint64_t value);  // as count_text()

// <section id><h2>title</h2> content</section>
std::string section(std::string_view id, std::string_view title, const std::string& content);

std::string paragraph(const std::string& content);
std::string fact(std::string_view name, const std::string& value);  // an entry of a <dl>

// Return a bar of two parts, each given as a share of the full length.
std::string meter(double first, double second = 0);

// Return a table that scrolls if it is too wide. names: of the columns, as text.
std::string table(std::initializer_list<std::string_view> names, const std::string& rows);

// Return a row of a table: the first cell is its heading, the others are right-aligned numbers.
std::string row(std::initializer_list<std::string> cells);
// Return "And 3 others with fewer packets.", or nothing.
std::string others(std::size_t count, std::string_view with_what);

// Explain counts that do not separate copies from repeats; nothing if all echoes are copies.
std::string both(const Report& report);

}  // namespace unecho::analyze
