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
    EXPECT_GE(read_cases().size(), 22U);
}

// A section of a file: "port[1]" is the second [[port]].
struct SectionPath {
    std::string name;
    std::size_t index = 0;
};

SectionPath section_of(const std::string& text) {
    const std::size_t bracket = text.find('[');
    return {text.substr(0, bracket),
            bracket == std::string::npos ? 0 : static_cast<std::size_t>(text[bracket + 1] - '0')};
}

// Apply "KEY = VALUE" or "-KEY" to a section, and return the number of the key's line.
std::size_t set_value(std::vector<std::string>& lines, const SectionPath& section,
                      const std::string& setting) {
    const auto is_header = [&](const std::string& line) {
        return line == "[" + section.name + "]" || line == "[[" + section.name + "]]";
    };
    auto at = std::find_if(lines.begin(), lines.end(), is_header);
    for (std::size_t i = 0; i < section.index; ++i) {
        at = std::find_if(at + 1, lines.end(), is_header);
    }
    const bool remove = setting.starts_with("-");
    const std::string key =
        remove ? setting.substr(1) + " = " : setting.substr(0, setting.find(" = ") + 3);
    const auto own = std::find_if(at + 1, lines.end(), [&](const std::string& line) {
        return line.starts_with(key) || line.starts_with("[");
    });
    if (own == lines.end() || !own->starts_with(key)) {
        at = lines.insert(at + 1, setting);
    } else if (remove) {
        at = lines.erase(own);
    } else {
        *own = setting;
        at = own;
    }
    return static_cast<std::size_t>(at - lines.begin()) + 1;
}

// Return what the key allows, behind what is wrong with its value.
std::string allowed_behind(const std::string& said, const std::string& section,
                           const std::string& key) {
    const std::vector<KnownKey> keys = known_keys();
    const auto known = std::find_if(keys.begin(), keys.end(), [&](const KnownKey& one) {
        return one.section == section && one.key == key;
    });
    return (said.ends_with('?') ? " allowed: " : "; allowed: ") + known->allowed;
}

// A line of broken_cases.txt about values, with the file that it makes and the problem of that.
struct BrokenValue {
    std::string text;
    std::string problem;
};

BrokenValue read_value(const std::string& line) {
    const std::size_t arrow = line.find(" => ");
    std::vector<std::string> lines = lines_of_base();
    SectionPath section;
    std::string setting;
    std::size_t number = 0;
    for (std::size_t at = 0, end = 0; at < arrow; at = end + 2) {
        end = std::min(line.find("; ", at), arrow);
        setting = line.substr(at, end - at);
        if (const std::size_t dot = setting.find('.'); dot < setting.find(" = ")) {
            section = section_of(setting.substr(0, dot));
            setting.erase(0, dot + 1);
        }
        number = set_value(lines, section, setting);
    }
    const std::string key = setting.substr(0, setting.find(' '));
    const bool many = section.name == "port" || section.name == "filter" || section.name == "route";
    std::string place =
        section.name + (many ? "[" + std::to_string(section.index) + "]." : ".") + key;
    std::string said = line.substr(arrow + 4);
    if (said.starts_with("[") || said.starts_with(".")) {
        place += said.substr(0, said.find(' '));
        said.erase(0, said.find(' ') + 1);
    }
    if (said.ends_with(" ...")) {
        said.resize(said.size() - 4);
        said += allowed_behind(said, section.name, key);
    }
    return {joined(lines), std::to_string(number) + " " + place + ": " + said};
}

TEST(BrokenValues, have_exactly_this_problem) {
    std::size_t read = 0;
    for (const std::string& line : lines_of_cases()) {
        if (line.starts_with("## ")) {
            break;
        }
        if (!line.empty() && !line.starts_with("#")) {
            const BrokenValue broken = read_value(line);
            EXPECT_EQ(problems_of(broken.text), std::vector{broken.problem}) << broken.text;
            ++read;
        }
    }
    EXPECT_GE(read, 140U);
}

TEST(BrokenCases, base_without_a_change_is_valid) {
    const WorkingDirectory directory;
    const LoadResult result = load_text(read_source_file("tests/unit/config/base.toml"), "b.toml");
    EXPECT_TRUE(result.has_value()) << to_text(result.error(), "b.toml");
}

}  // namespace
}  // namespace unecho::config
