// SPDX-License-Identifier: BSD-3-Clause
#include "base/table.h"

#include <gtest/gtest.h>

namespace unecho {
namespace {

TEST(TextTable, aligns_columns_to_the_widest_cell) {
    TextTable table({"name", ">count", "note"});
    table.row({"a", "1", "first"});
    table.row({"longer", "12345", ""});
    EXPECT_EQ(table.text(),
              "  name    count  note\n"
              "  a           1  first\n"
              "  longer  12345\n");
}

TEST(TextTable, without_rows_is_its_header) {
    EXPECT_EQ(TextTable({"a", ">b"}).text(), "  a  b\n");
}

TEST(TextTable, of_short_rows_leaves_cells_empty) {
    TextTable table({"a", ">b", "c"});
    table.row({"x"});
    table.row({"1", "2", "3", "beyond the header"});
    EXPECT_EQ(table.text(), "  a  b  c\n  x\n  1  2  3\n");
}

TEST(TextTable, of_one_row_with_empty_cells_ends_without_blanks) {
    TextTable table({"", ">", ""});
    table.row({"", "", ""});
    EXPECT_EQ(table.text().find(" \n"), std::string::npos);
    EXPECT_EQ(table.text(), "\n\n");
}

}  // namespace
}  // namespace unecho
