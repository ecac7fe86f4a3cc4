// SPDX-License-Identifier: BSD-3-Clause
// docs/captures-report.md names every member of the JSON.
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "captures/analyze/report/report_json.h"
#include "sample_report.h"
#include "support/source_root.h"

namespace unecho::analyze {
namespace {

void collect(const nlohmann::ordered_json& json, std::set<std::string>& names) {
    if (!json.is_structured()) {
        return;
    }
    for (const auto& item : json.items()) {
        if (json.is_object()) {
            names.insert(item.key());
        }
        collect(item.value(), names);
    }
}

bool is_name(const std::string& word) {
    return !word.empty() &&
           word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
}

// Return the words between back quotes that look like the name of a member.
std::set<std::string> names_in(const std::string& docs) {
    std::set<std::string> names;
    std::stringstream text(docs);
    std::string word;
    for (bool quoted = false; std::getline(text, word, '`'); quoted = !quoted) {
        if (quoted && is_name(word)) {
            names.insert(word);
        }
    }
    return names;
}

TEST(Docs, every_name_in_the_json_is_explained) {
    std::ifstream file(test::source_root() + "/docs/captures-report.md");
    std::stringstream text;
    text << file.rdbuf();
    const std::string docs = text.str();
    ASSERT_FALSE(docs.empty());
    std::set<std::string> names;
    collect(to_json(sample_report()), names);
    EXPECT_GT(names.size(), 70U);
    for (const std::string& name : names) {
        EXPECT_NE(docs.find("`" + name + "`"), std::string::npos) << name;
    }
    const std::string table = docs.substr(docs.find("\n| `files`"));
    for (const std::string& name : names_in(table)) {
        EXPECT_TRUE(names.contains(name)) << name;
    }
}

}  // namespace
}  // namespace unecho::analyze
