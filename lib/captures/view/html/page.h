// SPDX-License-Identifier: BSD-3-Clause
// A report as one self-contained page that loads nothing; light and dark, wide and narrow.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "captures/view/view.h"

namespace unecho::view {

// Return the <figure> of a table's chart; empty: there is nothing to draw.
using DrawChart = std::function<std::string(const Table&)>;

// command: the one that made the report.
std::string to_html(const ReportView& view, const DrawChart& draw, std::string_view command);

}  // namespace unecho::view
