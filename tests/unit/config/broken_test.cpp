// SPDX-License-Identifier: BSD-3-Clause
// The values and cases of broken_cases.txt: each configuration has exactly its one intended
// problem.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "config/load.h"
#include "working_directory.h"

namespace unecho::config {
namespace {

struct Hunk {
    std::vector<std::string> taken;  // consecutive lines of base.toml
    std::vector<std::string> given;  // the lines that replace them
};

struct Case {
    std::string name;
    std::vector<Hunk> hunks;
    std::vector<std::string> expected;
};

// GoogleTest prints this instead of the bytes.
void PrintTo(const Case& broken, std::ostream* out) {
    *out << broken.name;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::size_t start = 0;
    while (start < text.size()) {
        const std::size_t end = std::min(text.find('\n', start), text.size());
        lines.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return lines;
}

std::string case_name(std::string_view title) {
    std::string name(title);
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
}

void add_line(Case& broken, const std::string& line) {
    if (line.starts_with("=> ")) {
        broken.expected.push_back(line.substr(3));
    } else if (line == "...") {
        broken.hunks.emplace_back();
    } else if (!line.empty()) {
        Hunk& hunk = broken.hunks.back();
        if (line[0] == ' ' || line[0] == '-') {
            hunk.taken.push_back(line.substr(1));
        }
        if (line[0] == ' ' || line[0] == '+') {
            hunk.given.push_back(line.substr(1));
        }
    }
}

std::vector<std::string> lines_of_cases() {
    return lines_of(read_source_file("tests/unit/config/broken_cases.txt"));
}

std::vector<std::string> lines_of_base() {
    return lines_of(read_source_file("tests/unit/config/base.toml"));
}

std::vector<Case> read_cases() {
    std::vector<Case> cases;
    for (const std::string& line : lines_of_cases()) {
        if (line.starts_with("## ")) {
            cases.push_back({case_name(line.substr(3)), {Hunk{}}, {}});
        } else if (!cases.empty()) {
            add_line(cases.back(), line);
        }
    }
    return cases;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) {
        text.append(line).append("\n");
    }
    return text;
}

// Return an empty string if a hunk does not fit.
std::string apply(const Case& broken) {
    std::vector<std::string> lines = lines_of_base();
    auto from = lines.begin();
    for (const Hunk& hunk : broken.hunks) {
        const auto at = std::search(from, lines.end(), hunk.taken.begin(), hunk.taken.end());
        if (at == lines.end()) {
            return {};
        }
        const auto position = lines.erase(at, at + static_cast<std::ptrdiff_t>(hunk.taken.size()));
        from = lines.insert(position, hunk.given.begin(), hunk.given.end()) +
               static_cast<std::ptrdiff_t>(hunk.given.size());
    }
    return joined(lines);
}

std::string one_line_of(const Problem& problem, const std::string& directory) {
    std::string text = std::to_string(problem.line) + " " + problem.key + ": " + problem.message;
    if (const std::size_t at = text.find(directory); at != std::string::npos) {
        text.replace(at, directory.size(), "$CWD");
    }
    return text;
}

std::vector<std::string> problems_of(const std::string& text) {
    const WorkingDirectory directory;
    const LoadResult result = load_text(text, "broken.toml");
    std::vector<std::string> told;
    for (const Problem& problem : result ? std::vector<Problem>{} : result.error()) {
        told.push_back(one_line_of(problem, directory.path()));
    }
    return told;
}

class Broken : public testing::TestWithParam<Case> {};

TEST_P(Broken, text_has_exactly_this_problem) {
    const std::string text = apply(GetParam());
    ASSERT_FALSE(text.empty()) << "a line with '-' or ' ' is not in base.toml";
    ASSERT_EQ(GetParam().expected.size(), 1U);
    EXPECT_EQ(problems_of(text), GetParam().expected) << text;
}

INSTANTIATE_TEST_SUITE_P(cases, Broken, testing::ValuesIn(read_cases()),
                         [](const auto& info) { return info.param.name; });

TEST(BrokenCases, all_of_them_are_read) {
    EXPECT_GE(read_cases().size(), 70U);
}

// Give the key a value in its section of base.toml, and return the number of its line.
std::size_t set_value(std::vector<std::string>& lines, const std::string& section,
                      const std::string& assignment) {
    auto at = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
        return line == "[" + section + "]" || line == "[[" + section + "]]";
    });
    const std::string key = assignment.substr(0, assignment.find(" = ") + 3);
    const auto own = std::find_if(at + 1, lines.end(), [&](const std::string& line) {
        return line.starts_with(key) || line.starts_with("[");
    });
    if (own != lines.end() && own->starts_with(key)) {
        *own = assignment;
        at = own;
    } else {
        at = lines.insert(at + 1, assignment);
    }
    return static_cast<std::size_t>(at - lines.begin()) + 1;
}

// Return the problem of a key's value, as one_line_of() does.
std::string refusal_of(const std::string& section, const std::string& key, std::size_t line,
                       std::string said) {
    const std::vector<KnownKey> keys = known_keys();
    const auto known = std::find_if(keys.begin(), keys.end(), [&](const KnownKey& one) {
        return one.section == section && one.key == key;
    });
    std::string place =
        section + (section == "port" || section == "filter" || section == "route" ? "[0]." : ".") +
        key;
    if (said.starts_with("[")) {
        place += said.substr(0, said.find(' '));
        said.erase(0, said.find(' ') + 1);
    }
    return std::to_string(line) + " " + place + ": " + said +
           (said.ends_with('?') ? " allowed: " : "; allowed: ") + known->allowed;
}

TEST(BrokenValues, are_refused_with_what_the_key_allows) {
    std::size_t read = 0;
    for (const std::string& value : lines_of_cases()) {
        const std::size_t arrow = value.find(" => ");
        if (arrow == std::string::npos || value.starts_with("#")) {
            continue;
        }
        const std::string section = value.substr(0, value.find('.'));
        std::vector<std::string> lines = lines_of_base();
        std::size_t line = 0;
        std::string assignment;
        for (std::size_t at = section.size() + 1; at < arrow; at += assignment.size() + 2) {
            assignment = value.substr(at, std::min(value.find("; ", at), arrow) - at);
            line = set_value(lines, section, assignment);
        }
        const std::string key = assignment.substr(0, assignment.find(' '));
        EXPECT_EQ(problems_of(joined(lines)),
                  std::vector{refusal_of(section, key, line, value.substr(arrow + 4))})
            << value;
        ++read;
    }
    EXPECT_GE(read, 55U);
}

TEST(BrokenCases, base_without_a_change_is_valid) {
    const WorkingDirectory directory;
    const LoadResult result = load_text(read_source_file("tests/unit/config/base.toml"), "b.toml");
    EXPECT_TRUE(result.has_value()) << to_text(result.error(), "b.toml");
}

}  // namespace
}  // namespace unecho::config
