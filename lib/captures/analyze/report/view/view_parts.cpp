// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/view/view_parts.h"

#include <fmt/core.h>

#include "base/option_names.h"
#include "captures/analyze/report/text_format.h"

namespace unecho::analyze {

Cell figure(const std::string& name, std::uint64_t packets) {
    return {format_count(packets), name, packets};
}

Cell figure(const std::string& name, const Count& count) {
    return figure(name + ".packets", count.packets);
}

Cell size_figure(const std::string& name, std::uint64_t bytes) {
    return {brief_size(bytes), name, bytes};
}

Cell age_figure(const std::string& name, Nanoseconds age) {
    return {brief_duration(age), name, age};
}

Cell harm(Cell cell) {
    cell.harm = cell.value != 0;
    return cell;
}

std::string share_text(std::uint64_t part, std::uint64_t all) {
    return percent(share(part, all));
}

std::string indexed(const std::string& list, std::size_t i, const char* member) {
    return list + "." + std::to_string(i) + member;
}

void put(std::vector<Block>& blocks, std::string text, Tone tone) {
    if (!text.empty()) {
        blocks.emplace_back(Paragraph{std::move(text), tone});
    }
}

void put(std::vector<Block>& blocks, Table table) {
    if (!table.rows.empty()) {
        blocks.emplace_back(std::move(table));
    }
}

void put_what_echoes_are(std::vector<Block>& blocks, const Report& report) {
    const std::uint64_t copies = std::min(report.copied.packets, report.echoes.packets);
    if (copies != report.echoes.packets) {
        put(blocks,
            fmt::format("Echoes are packets that came again: {} and {} sent again.",
                        format_quantity(copies, "copy"),
                        format_count(report.echoes.packets - copies)),
            Tone::kSmall);
    }
}

std::string memory_was_full(const std::string& what) {
    return fmt::format("Memory was full: {}; more {} helps.", what, option::kMemory);
}

std::string window_text(std::optional<Nanoseconds> window) {
    return window ? format_duration(*window) : "no end";
}

}  // namespace unecho::analyze
