// SPDX-License-Identifier: BSD-3-Clause
// docs/configuration.md agrees with the code about every key.
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

// Return the page's part about a section: from its heading to the next.
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

TEST(Docs, say_of_every_key_what_a_reload_does) {
    const std::string page = read_source_file("docs/reload.md");
    for (const KnownKey& known : known_keys()) {
        const std::string row =
            "\n| `" + known.section + "." + known.key + "` | " + known.reload + " |";
        EXPECT_NE(page.find(row), std::string::npos) << "not in docs/reload.md:" << row;
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

// Return the names as "`a`, `b`".
std::string marked(const std::vector<std::string_view>& names) {
    std::string text;
    for (const std::string_view name : names) {
        text += (text.empty() ? "`" : ", `") + std::string(name) + "`";
    }
    return text;
}

std::string on_full_text(const engines::EngineInfo& info) {
    std::vector<std::string_view> names;
    for (unsigned i = 0; i < info.on_full.count; ++i) {
        names.push_back(kOnFullNames.at(static_cast<std::size_t>(info.on_full.list.at(i))));
    }
    return names.empty() ? "none" : marked(names);
}

TEST(Docs, the_table_of_engines_is_the_engines_rows) {
    std::string table = "| engine | what it is | `on_full` |\n|---|---|---|\n";
    for (const engines::EngineInfo& info : engines::kEngineTable) {
        table += "| `" + std::string(info.name) + "` | " + std::string(info.help) + " | " +
                 on_full_text(info) + " |\n";
    }
    EXPECT_NE(read_source_file(kPage).find(table + "\n"), std::string::npos) << table;
}

TEST(Docs, the_option_for_engines_has_all_of_them) {
    const std::string row = "| `--engine` | `auto` | ";
    const std::string captures = read_source_file("docs/captures.md");
    const std::size_t at = captures.find(row);
    ASSERT_NE(at, std::string::npos);
    const std::string line = captures.substr(at, captures.find('\n', at) - at);
    for (const std::string_view name : kEngineNames) {
        EXPECT_NE(line.find(marked({name})), std::string::npos) << name << " in " << line;
    }
}

// The help text of "auto" lists the engines that it chooses among.
TEST(Docs, auto_says_among_which_it_chooses) {
    std::string_view help = engines::info_of(Engine::kAuto).help;
    for (const auto name : engines::engines_that([](const auto& row) { return row.chosen; })) {
        EXPECT_NE(help.find(name), std::string_view::npos) << name;
    }
}

// Return all examples that begin with such a line, up to their ends.
std::string examples_of(const std::string& begin) {
    std::istringstream page(read_source_file(kPage));
    std::string line;
    std::string text;
    bool in_example = false;
    while (std::getline(page, line)) {
        if (line.starts_with("```")) {
            in_example = line == begin;
        } else if (in_example) {
            text.append(line).append("\n");
        }
    }
    return text;
}

TEST(Docs, examples_make_up_one_valid_file) {
    const WorkingDirectory directory;
    const LoadResult result = load_text(examples_of("```toml"), kPage);
    ASSERT_TRUE(result.has_value()) << to_text(result.error(), kPage);
    EXPECT_EQ(result->ports.size(), 4U);
    EXPECT_EQ(result->routes.size(), 2U);
}

// The page's other file replays captures, whose time no other site shares.
TEST(Docs, example_of_a_root_is_valid_in_the_file_of_a_site) {
    const std::string text = R"([[port]]
name = "tap"
device = "net_null0"
[[port]]
name = "tool"
device = "net_null1"
[[route]]
from = ["tap"]
to = "tool"
filter = "flows"
)" + examples_of("```toml of a site");
    const LoadResult result = load_text(text, kPage);
    ASSERT_TRUE(result.has_value()) << to_text(result.error(), kPage);
    ASSERT_EQ(result->filters.size(), 1U);
    EXPECT_TRUE(result->filters[0].root);
}

}  // namespace
}  // namespace unecho::config
