// SPDX-License-Identifier: BSD-3-Clause
// docs/configuration.md says of every key what the code says of it.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/load.h"
#include "working_directory.h"

namespace unecho::config {
namespace {

constexpr const char* kPage = "docs/configuration.md";

// The part of the page about a section: from its heading to the next.
std::string part_of(const std::string& page, const std::string& section) {
    const std::vector<std::string> headings =
        section.starts_with("filter.")
            ? std::vector<std::string>{"\n### " + section.substr(sizeof("filter.") - 1) + "\n"}
            : std::vector<std::string>{"\n## [" + section + "]\n", "\n## [[" + section + "]]\n"};
    for (const std::string& heading : headings) {
        if (const std::size_t at = page.find(heading); at != std::string::npos) {
            return page.substr(at, page.find("\n##", at + 1) - at);
        }
    }
    return {};
}

std::string row_of(const KnownKey& known) {
    std::string fallback = known.required ? "required" : "-";
    if (!known.fallback.empty()) {
        fallback = "`" + known.fallback + "`";
    }
    const std::string allowed = known.allowed.substr(0, known.allowed.find(", with its unit"));
    return "\n| `" + known.key + "` | " + allowed + " | " + fallback + " |";
}

TEST(Docs, every_key_has_its_row_with_range_and_default) {
    const std::string page = read_source_file(kPage);
    for (const KnownKey& known : known_keys()) {
        EXPECT_NE(part_of(page, known.section).find(row_of(known)), std::string::npos)
            << "not in " << kPage << ", section " << known.section << ":" << row_of(known);
    }
}

TEST(Docs, every_row_of_a_key_is_a_known_key) {
    const std::vector<KnownKey> keys = known_keys();
    std::istringstream page(read_source_file(kPage));
    std::string line;
    std::size_t rows = 0;
    bool in_table = false;
    while (std::getline(page, line)) {
        if (line.starts_with("| key | allowed |")) {
            in_table = true;
        } else if (!line.starts_with("|")) {
            in_table = false;
        } else if (in_table && line.starts_with("| `")) {
            const std::string name = line.substr(3, line.find('`', 3) - 3);
            EXPECT_TRUE(std::any_of(keys.begin(), keys.end(), [&](const KnownKey& known) {
                return known.key == name;
            })) << name;
            ++rows;
        }
    }
    EXPECT_EQ(rows, keys.size());
}

TEST(Docs, examples_make_up_one_valid_file) {
    const WorkingDirectory directory;
    std::istringstream page(read_source_file(kPage));
    std::string line;
    std::string text;
    bool in_example = false;
    while (std::getline(page, line)) {
        if (line.starts_with("```")) {
            in_example = line == "```toml";
        } else if (in_example) {
            text.append(line).append("\n");
        }
    }
    const LoadResult result = load_text(text, kPage);
    ASSERT_TRUE(result.has_value()) << to_text(result.error(), kPage);
    EXPECT_EQ(result->ports.size(), 4U);
    EXPECT_EQ(result->routes.size(), 2U);
}

}  // namespace
}  // namespace unecho::config
