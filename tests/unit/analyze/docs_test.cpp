// SPDX-License-Identifier: BSD-3-Clause
// docs/captures-report.md names every member of the JSON.
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyze/json.h"
#include "sample_report.h"

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

TEST(Docs, every_name_in_the_json_is_explained) {
    std::ifstream file(UNECHO_SOURCE_ROOT "/docs/captures-report.md");
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
    const std::regex word("`([a-z][a-z0-9_-]*)`");
    for (std::sregex_iterator at(table.begin(), table.end(), word), end; at != end; ++at) {
        EXPECT_TRUE(names.contains((*at)[1])) << (*at)[1];
    }
}

}  // namespace
}  // namespace unecho::analyze
