// SPDX-License-Identifier: BSD-3-Clause
// Figures and blocks that several sections of the view use. report_view.h declares the view.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/humanize.h"
#include "captures/analyze/report/report_view.h"

namespace unecho::analyze {

inline constexpr std::size_t kMaxRows = 10;    // of tables whose length depends on the capture
inline constexpr std::size_t kChartRows = 24;  // of tables over time and age
inline constexpr std::size_t kMaxName = 40;    // bytes of an interface's name in a table

// Return a figure with its name in the JSON; of a Count, its packets.
Cell figure(const std::string& name, std::uint64_t packets);
Cell figure(const std::string& name, const Count& count);
Cell size_figure(const std::string& name, std::uint64_t bytes);
Cell age_figure(const std::string& name, Nanoseconds age);
// Mark a figure that should be 0 if it is not.
Cell harm(Cell cell);
// Return "list.3member", the name of a figure in a list of the JSON.
std::string indexed(const std::string& list, std::size_t i, const char* member);

std::string share_text(std::uint64_t part, std::uint64_t all);
std::string window_text(std::optional<Nanoseconds> window);
std::string memory_was_full(const std::string& what);

// Add a row for each of the first elements: make(element, index). what: names those left out.
template <typename List, typename Make>
Table with_rows(Table table, const List& all, std::string_view what, Make make) {
    const std::size_t shown = std::min(all.size(), kMaxRows);
    for (std::size_t i = 0; i < shown; ++i) {
        table.rows.push_back(make(all[i], i));
    }
    if (all.size() > shown) {
        table.rest = "and " + format_quantity(all.size() - shown, "more " + std::string(what));
    }
    return table;
}

// Add a paragraph or table that is not empty.
void put(std::vector<Block>& blocks, std::string text, Tone tone = Tone::kPlain);
void put(std::vector<Block>& blocks, Table table);
// Explain tables that count echoes without separating copies from repeats.
void put_what_echoes_are(std::vector<Block>& blocks, const Report& report);

}  // namespace unecho::analyze
