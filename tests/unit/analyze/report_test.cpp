// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/report.h"

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

}  // namespace
}  // namespace unecho::analyze
