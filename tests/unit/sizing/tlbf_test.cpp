// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/tlbf.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "filters/sizing/fpr.h"
#include "filters/sizing/sizing.h"
#include "filters/sizing/window/tlbf.h"
#include "support/vectors.h"
#include "targets.h"

namespace unecho::sizing::tlbf_test {
namespace {

constexpr Targets kUsual{50 * kMillisecond, 1e6, 1e-3};

// The false-drop rate assumes the largest number of live full slices, so it holds at any rate.
TEST(size_tlbf, bound_holds_with_every_slice_alive_and_full) {
    for (const double max_false_drop : {0.1, 1e-2, 1e-4, 1e-6, 1e-9}) {
        const auto found = size_tlbf({50 * kMillisecond, 1e6, max_false_drop});
        ASSERT_TRUE(found) << found.error().context;
        EXPECT_GE(found->max_slices, found->k + found->l);
        const unsigned older = found->max_slices - found->k;
        EXPECT_LE(false_positive_rate(found->k, older, fills_half(found->k, older, kBeforeShift)),
                  max_false_drop);
        const Prediction p = predict(*found, 50 * kMillisecond, 1e6);
        EXPECT_LE(p.false_drop, max_false_drop);
        EXPECT_LE(p.npws, kMaxNpws);
        EXPECT_EQ(p.window_keys, 50'000U);
        EXPECT_EQ(predict(*found, 50 * kMillisecond, 1e7).false_drop, p.false_drop);
    }
}

TEST(size_tlbf, arena_has_room_for_twice_the_slices_of_the_planned_rate) {
    const auto found = size_tlbf(kUsual);
    ASSERT_TRUE(found);
    const double slice = 50'000.0 / found->l * found->k / std::log(2.0);
    const double slices = (found->k + found->l) * slice / 8;
    EXPECT_GE(static_cast<double>(found->arena_bytes), 2 * slices);
    EXPECT_LE(static_cast<double>(found->arena_bytes), 2.1 * slices + 128.0 * 64);
}

// Includes windows shorter than the number of generations: each lasts at least a nanosecond.
TEST(size_tlbf, what_it_answers_the_filter_takes) {
    std::vector<Targets> all = kTargets;
    for (const Nanoseconds window : {1U, 2U, 5U, 39U, 40U, 41U}) {
        all.push_back({window, 1e9, 1e-3});
    }
    for (const Targets& targets : all) {
        const auto found = size_tlbf(targets);
        if (!found) {
            EXPECT_NE(found.error().context.find("needs more than"), std::string::npos)
                << found.error().context;
            continue;
        }
        const auto params = filter::TlbfParams::make({.k = found->k,
                                                      .l = found->l,
                                                      .window = targets.window,
                                                      .capacity = found->capacity,
                                                      .arena_bytes = found->arena_bytes,
                                                      .max_slices = found->max_slices});
        EXPECT_TRUE(params) << params.error().context;
    }
}

TEST(size_tlbf, what_cannot_be_is_refused) {
    EXPECT_FALSE(size_tlbf({0, 1e6, 1e-3}));
    EXPECT_FALSE(size_tlbf({kSecond, 0, 1e-3}));
    const auto too_large = size_tlbf({3600 * kSecond, 1e11, 1e-3});
    ASSERT_FALSE(too_large);
    EXPECT_NE(too_large.error().context.find("needs more than"), std::string::npos);
}

// Bits an element, (k + l) k / (l ln 2) just after a shift, of the combinations of Table 2.
TEST(tlbf, bits_per_element_are_those_of_table_2) {
    unsigned rows = 0;
    for (const test::Row& row : test::vectors("timelimited_table2")) {
        const std::string combination = row.text("k;l that attains it");
        const auto separator = combination.find(';');
        const auto k = static_cast<unsigned>(std::stoul(combination.substr(0, separator)));
        const auto l = static_cast<unsigned>(std::stoul(combination.substr(separator + 1)));
        const double most = bits_per_window_key(k, l);
        const bool after = row.text("bound") == "max";
        EXPECT_NEAR(after ? most : most * l / (l + 1), row.real("computed"), 1e-9);
        EXPECT_EQ(std::floor(row.real("computed")), row.real("printed"));
        ++rows;
    }
    EXPECT_GE(rows, 5U);
}

}  // namespace
}  // namespace unecho::sizing::tlbf_test
