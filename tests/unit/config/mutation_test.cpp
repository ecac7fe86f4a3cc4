// SPDX-License-Identifier: BSD-3-Clause
// Loading always ends, whatever was changed in a valid file, and its messages can be used.
#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/load.h"
#include "support/sanitizers.h"
#include "support/source_root.h"
#include "working_directory.h"

namespace unecho::config {
namespace {

constexpr unsigned kSeed = 20240607;
constexpr int kRounds = test::quarter_under_asan(5000);

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
}

std::vector<std::string> valid_files() {
    std::vector<std::string> texts{read_source_file("tests/unit/config/base.toml")};
    const std::string configs = test::source_root() + "/configs";
    for (const auto& entry : std::filesystem::directory_iterator(configs)) {
        if (entry.path().extension() == ".toml") {
            texts.push_back(read_source_file("configs/" + entry.path().filename().string()));
        }
    }
    std::sort(texts.begin(), texts.end());
    return texts;
}

// Return where a random line begins, and its length with the line end.
std::pair<std::size_t, std::size_t> some_line(const std::string& text, Random& random) {
    const std::size_t at = below(random, text.size());
    const std::size_t before = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const std::size_t start = before == std::string::npos ? 0 : before + 1;
    const std::size_t end = text.find('\n', start);
    return {start, end == std::string::npos ? text.size() - start : end + 1 - start};
}

char some_character(Random& random) {
    constexpr std::string_view kLikely = "[]{}=\"'#.,\n\\ 0123456789-_etxMpsk\t\x80\xff";
    return kLikely[below(random, kLikely.size())];
}

void mutate(std::string& text, Random& random) {
    if (text.empty()) {
        return;
    }
    const auto [start, length] = some_line(text, random);
    const std::size_t at = below(random, text.size());
    switch (below(random, 7)) {
        case 0:
            text.erase(start, length);
            break;
        case 1:
            text.insert(start, text.substr(start, length));
            break;
        case 2:
            text.insert(some_line(text, random).first, text.substr(start, length));
            break;
        case 3:
            text[at] = some_character(random);
            break;
        case 4:
            text.insert(at, 1, some_character(random));
            break;
        case 5:
            text.erase(at, 1);
            break;
        default:
            text.resize(at);
            break;
    }
}

TEST(Mutation, every_problem_has_its_place_and_words) {
    const WorkingDirectory directory;
    const std::vector<std::string> files = valid_files();
    ASSERT_GE(files.size(), 8U);
    Random random(kSeed);
    int broken = 0;
    for (int round = 0; round < kRounds; ++round) {
        std::string text = files[below(random, files.size())];
        const std::size_t changes = 1 + below(random, 4);
        for (std::size_t i = 0; i < changes; ++i) {
            mutate(text, random);
        }
        const LoadResult result = load_text(text, "mutated.toml");
        if (result) {
            continue;
        }
        ++broken;
        const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
        ASSERT_FALSE(result.error().empty());
        for (const Problem& problem : result.error()) {
            const bool whole_file = problem.key == "file" && problem.line == 0;
            ASSERT_TRUE(whole_file || (problem.line >= 1 && problem.line <= lines))
                << "round " << round << ": line " << problem.line << " of " << lines << "\n"
                << text;
            ASSERT_FALSE(problem.key.empty()) << "round " << round << "\n" << text;
            ASSERT_FALSE(problem.message.empty()) << "round " << round << "\n" << text;
            ASSERT_EQ((problem.key + problem.message).find('\n'), std::string::npos) << round;
        }
    }
    // If all were valid or all broken, the test would prove nothing.
    EXPECT_GT(broken, kRounds / 4);
    EXPECT_LT(broken, kRounds);
}

}  // namespace
}  // namespace unecho::config
