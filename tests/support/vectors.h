// SPDX-License-Identifier: BSD-3-Clause
// Reference vectors as tables. A sample of each is in tests/vectors; all rows are in
// ../shared/reference/csv of the repository, or in $UNECHO_SHARED, if that folder exists.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/source_root.h"

namespace unecho::test {

// A row by column name, without the unit in brackets.
class Row {
  public:
    explicit Row(std::map<std::string, std::string> cells) : cells_(std::move(cells)) {}

    [[nodiscard]] const std::string& text(const std::string& column) const {
        return cells_.at(column);
    }
    [[nodiscard]] bool has(const std::string& column) const { return !cells_.at(column).empty(); }
    [[nodiscard]] double real(const std::string& column) const { return std::stod(text(column)); }
    [[nodiscard]] unsigned whole(const std::string& column) const {
        return static_cast<unsigned>(std::stoul(text(column)));
    }

  private:
    std::map<std::string, std::string> cells_;
};

// Split a line into cells, without units in brackets. A cell in quotes may contain commas.
inline std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> cells{""};
    bool quoted = false;
    for (const char c : line) {
        if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            cells.emplace_back();
        } else {
            cells.back() += c;
        }
    }
    for (std::string& cell : cells) {
        cell.erase(std::min(cell.find('['), cell.size()));
    }
    return cells;
}

// Throw if there is nothing to compare with: no file, no rows, or cells without a column.
inline std::vector<Row> read_vectors(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::string line;
    if (!std::getline(in, line)) {
        throw std::runtime_error("no vectors in " + path.string());
    }
    const std::vector<std::string> names = split(line);
    std::vector<Row> rows;
    while (std::getline(in, line)) {
        const std::vector<std::string> cells = split(line);
        if (cells.size() != names.size()) {
            throw std::runtime_error(path.string() + ": row " + std::to_string(rows.size() + 1) +
                                     " has " + std::to_string(cells.size()) + " cells, not " +
                                     std::to_string(names.size()));
        }
        std::map<std::string, std::string> row;
        for (std::size_t i = 0; i < names.size(); ++i) {
            row[names[i]] = cells[i];
        }
        rows.emplace_back(std::move(row));
    }
    if (rows.empty()) {
        throw std::runtime_error("no rows in " + path.string());
    }
    return rows;
}

// Return the rows of the sample, and all rows if that folder exists; then each file must exist.
inline std::vector<Row> vectors(const std::string& name) {
    const std::filesystem::path root = source_root();
    const char* shared = std::getenv("UNECHO_SHARED");
    const std::filesystem::path full =
        (shared != nullptr ? std::filesystem::path(shared) : root / ".." / "shared") / "reference" /
        "csv";
    std::vector<Row> rows = read_vectors(root / "tests/vectors" / (name + ".csv"));
    if (std::filesystem::exists(full)) {
        for (Row& row : read_vectors(full / (name + ".csv"))) {
            rows.push_back(std::move(row));
        }
    }
    return rows;
}

}  // namespace unecho::test
