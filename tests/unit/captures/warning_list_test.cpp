// SPDX-License-Identifier: BSD-3-Clause
#include "captures/warning_list.h"

#include <string>

#include <gtest/gtest.h>

namespace {

using unecho::capture::WarningList;

TEST(WarningList, equal_ones_count_as_one_with_the_first_packet) {
    WarningList notes;
    notes.add(3, "a");
    notes.add(4, "b");
    notes.add(9, "a");
    ASSERT_EQ(notes.list().size(), 2U);
    EXPECT_EQ(notes.list()[0].text, "a");
    EXPECT_EQ(notes.list()[0].number, 3U);
    EXPECT_EQ(notes.list()[0].times, 2U);
    EXPECT_EQ(notes.list()[1].times, 1U);
}

TEST(WarningList, beyond_64_kinds_the_rest_is_one) {
    WarningList notes;
    for (unsigned i = 0; i < 100; ++i) {
        notes.add(i, std::to_string(i));
    }
    ASSERT_EQ(notes.list().size(), 65U);
    EXPECT_EQ(notes.list()[63].text, "63");
    EXPECT_EQ(notes.list()[64].text, "more kinds of trouble, not listed");
    EXPECT_EQ(notes.list()[64].number, 64U);
    EXPECT_EQ(notes.list()[64].times, 36U);
    notes.add(7, "7");
    EXPECT_EQ(notes.list()[7].times, 2U);
}

}  // namespace
