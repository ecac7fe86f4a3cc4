// SPDX-License-Identifier: BSD-3-Clause
// Text in aligned columns, for the plan and the report.
#pragma once

#include <string>
#include <vector>

namespace unecho {

class TextTable {
  public:
    // Columns named with a leading '>' are aligned to the right.
    explicit TextTable(std::vector<std::string> header);

    void row(std::vector<std::string> cells);

    // Indented by two spaces, with a header line.
    [[nodiscard]] std::string text() const;

  private:
    std::vector<bool> right_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace unecho
