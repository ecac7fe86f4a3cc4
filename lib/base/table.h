// SPDX-License-Identifier: BSD-3-Clause
// A table printed as text in aligned columns, for the plan and the report.
#pragma once

#include <string>
#include <vector>

namespace unecho {

class TextTable {
  public:
    // Construct with column names. A leading '>' aligns a column to the right.
    explicit TextTable(std::vector<std::string> header);

    void row(std::vector<std::string> cells);

    // Return the table with its header line, indented by two spaces.
    [[nodiscard]] std::string text() const;

  private:
    std::vector<bool> right_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace unecho
