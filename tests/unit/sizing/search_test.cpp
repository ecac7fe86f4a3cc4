// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/search.h"

#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace unecho::sizing::search_test {
namespace {

std::string refusal(const Targets& targets) {
    const Status status = check(targets);
    EXPECT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, Errc::kInvalidArgument);
    return status.error().context;
}

TEST(check, targets_at_the_limits_pass) {
    EXPECT_TRUE(check(Targets{1, 1e-9, 0.5}));
    EXPECT_TRUE(check(Targets{kMaxWindow, 1, 1e-9}));
    EXPECT_TRUE(check(Targets{1, kMaxRate, 1e-12}));
}

TEST(check, bad_window_names_what_is_allowed) {
    EXPECT_EQ(refusal({0, 1e6, 1e-3}), "window 0 ns; allowed: 1ns to 8760h");
    EXPECT_EQ(refusal({kMaxWindow + 1, 1e6, 1e-3}), "window 31536000 s; allowed: 1ns to 8760h");
}

TEST(check, bad_rate_names_what_is_allowed) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(refusal({kSecond, 0, 1e-3}), "rate 0 pps; allowed: above 0 up to 1000Gpps");
    EXPECT_EQ(refusal({kSecond, -5, 1e-3}), "rate -5 pps; allowed: above 0 up to 1000Gpps");
    EXPECT_EQ(refusal({kSecond, 2e12, 1e-3}), "rate 2e+12 pps; allowed: above 0 up to 1000Gpps");
    EXPECT_EQ(refusal({kSecond, nan, 1e-3}), "rate nan pps; allowed: above 0 up to 1000Gpps");
}

TEST(check, bad_false_drop_rate_names_what_is_allowed) {
    EXPECT_EQ(refusal({kSecond, 1e6, 0}), "false-drop rate 0; allowed: above 0 up to 0.5");
    EXPECT_EQ(refusal({kSecond, 1e6, -1e-3}), "false-drop rate -0.001; allowed: above 0 up to 0.5");
    EXPECT_EQ(refusal({kSecond, 1e6, 0.51}), "false-drop rate 0.51; allowed: above 0 up to 0.5");
    EXPECT_EQ(refusal({kSecond, 1e6, std::nan("")}),
              "false-drop rate nan; allowed: above 0 up to 0.5");
}

TEST(check, false_drop_rate_below_that_of_digests_names_theirs) {
    EXPECT_EQ(
        refusal({kSecond, 0x1p24, 0x1p-41}),
        "false-drop rate 4.54747e-13; allowed: at least 9.09495e-13 for the 1.67772e+07 keys "
        "of window 1 s at 16.777 Mpps, as digests have 64 bits; raise max_false_drop, shorten the "
        "window or lower the rate");
    EXPECT_TRUE(check(Targets{kSecond, 0x1p24, 0x1p-40}));
}

TEST(keys_within, whole_products_are_not_rounded_up) {
    for (std::uint64_t ms = 1; ms <= 2000; ++ms) {
        ASSERT_EQ(keys_within(ms * kMillisecond, 14.88e6), ms * 14'880) << ms;
        ASSERT_EQ(keys_within(ms * kMillisecond, 1e6), ms * 1'000) << ms;
    }
}

TEST(keys_within, a_part_of_a_key_counts_as_one) {
    EXPECT_EQ(keys_within(1, 1), 1U);
    EXPECT_EQ(keys_within(1001, 1e6), 2U);
}

TEST(keys_within, endless_products_saturate) {
    EXPECT_EQ(keys_within(kMaxWindow, 1e300), std::uint64_t{1} << 62);
}

TEST(generation_length, l_of_them_cover_the_window) {
    EXPECT_EQ(generation_length(100, 5), 20U);
    EXPECT_EQ(generation_length(101, 5), 21U);
    EXPECT_EQ(generation_length(1, 5), 1U);
    EXPECT_EQ(generation_length(kMaxWindow, 1), kMaxWindow);
}

TEST(slack, is_what_remains_of_all_generations_after_the_window) {
    EXPECT_EQ(slack(100, 2, 5), 40U);
    EXPECT_EQ(slack(101, 2, 5), 7 * 21 - 101U);
    EXPECT_EQ(slack(1, 2, 5), 6U);
}

TEST(worst_case, digests_of_remembered_keys_add_to_the_false_drops) {
    const Profile never(5, 0.0);
    // npws is 1/3: one generation of the slack still matches completely.
    EXPECT_DOUBLE_EQ(worst_case(2, 3, never, std::uint64_t{1} << 40).false_drop, 4 * 0x1p-24);
}

TEST(smallest, finds_each_edge) {
    for (std::uint64_t edge = 0; edge <= 40; ++edge) {
        const auto enough = [=](std::uint64_t n) { return n >= edge; };
        const auto found = smallest(1, 37, enough);
        if (edge > 37) {
            EXPECT_EQ(found, std::nullopt);
        } else {
            EXPECT_EQ(found, std::max(edge, std::uint64_t{1}));
        }
    }
    EXPECT_EQ(smallest(5, 4, [](std::uint64_t) { return true; }), std::nullopt);
}

TEST(shortlist, picks_the_cheapest_of_those_within_one_percent) {
    Shortlist<char> list;
    EXPECT_EQ(list.max_bytes(), kMaxBytes);
    EXPECT_EQ(list.pick([](char) { return 0; }), std::nullopt);
    const auto alphabetic = [](char name) { return static_cast<double>(name); };
    list.add('a', 10'300);
    list.add('d', 10'000);
    EXPECT_EQ(list.max_bytes(), 10'100U);
    EXPECT_EQ(list.pick(alphabetic), 'd');
    list.add('c', 10'100);
    EXPECT_EQ(list.pick(alphabetic), 'c');
    EXPECT_EQ(list.pick([](char) { return 1; }), 'd');  // equal cost: the smaller
    list.add('e', 9'900);
    EXPECT_EQ(list.max_bytes(), 9'999U);
    EXPECT_EQ(list.pick(alphabetic), 'e');
}

}  // namespace
}  // namespace unecho::sizing::search_test
