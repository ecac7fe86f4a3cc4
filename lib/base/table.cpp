// SPDX-License-Identifier: BSD-3-Clause
#include "base/table.h"

#include <algorithm>
#include <utility>

namespace unecho {

TextTable::TextTable(std::vector<std::string> header) {
    for (std::string& name : header) {
        const bool right = name.starts_with('>');
        right_.push_back(right);
        if (right) {
            name.erase(0, 1);
        }
    }
    rows_.push_back(std::move(header));
}

void TextTable::row(std::vector<std::string> cells) {
    cells.resize(right_.size());
    rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
    std::vector<std::size_t> width(right_.size());
    for (const auto& cells : rows_) {
        for (std::size_t i = 0; i < cells.size(); ++i) {
            width[i] = std::max(width[i], cells[i].size());
        }
    }
    std::string out;
    for (const auto& cells : rows_) {
        std::string line = " ";
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const std::string padding(width[i] - cells[i].size(), ' ');
            line += " " + (right_[i] ? padding + cells[i] : cells[i] + padding) + " ";
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

}  // namespace unecho
