// SPDX-License-Identifier: BSD-3-Clause
// The table of tunnels. tunnels_vs_answer_test.py compares the walk through them with an oracle.
#include "packets/tunnels/tunnels.h"

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "support/source_root.h"

namespace unecho::packet {
namespace {

TEST(Encapsulations, each_has_its_row_in_the_documentation) {
    std::ifstream file(test::source_root() + "/docs/tunnels.md");
    std::stringstream page;
    page << file.rdbuf();
    for (const EncapsulationInfo& info : kEncapsulations) {
        const std::string row = "\n| `" + std::string(info.name) + "` | " +
                                std::string(info.source) + " | " + std::string(info.where) + " | ";
        EXPECT_NE(page.str().find(row), std::string::npos) << row;
    }
}

}  // namespace
}  // namespace unecho::packet
