// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/report.h"

#include <set>
#include <string_view>

#include <gtest/gtest.h>

namespace unecho::analyze {
namespace {

TEST(Count, is_added_taken_away_and_bounded_in_packets_and_bytes) {
    Count count{5, 700};
    count += {2, 100};
    EXPECT_EQ(count, (Count{7, 800}));
    count -= {4, 300};
    EXPECT_EQ(count, (Count{3, 500}));
    EXPECT_EQ(count + (Count{1, 2}), (Count{4, 502}));
    EXPECT_EQ(count - (Count{1, 2}), (Count{2, 498}));
    EXPECT_EQ(least(count, {2, 900}), (Count{2, 500}));
    EXPECT_EQ(least(count, {9, 1}), (Count{3, 1}));
}

TEST(Report, every_cause_has_all_its_words_and_a_name_of_its_own) {
    std::set<std::string_view> names;
    for (const CauseInfo& info : kCauseTable) {
        names.insert({info.name, info.meaning});
    }
    EXPECT_EQ(names.size(), 2 * kCauses);
    EXPECT_FALSE(names.contains(""));
}

TEST(Report, every_difference_has_its_words_and_a_name_of_its_own) {
    std::set<std::string_view> names;
    for (const DifferenceInfo& info : kDifferenceTable) {
        names.insert({info.name, info.words});
    }
    EXPECT_EQ(names.size(), 2 * kDifferences);
    EXPECT_FALSE(names.contains(""));
}

}  // namespace
}  // namespace unecho::analyze
