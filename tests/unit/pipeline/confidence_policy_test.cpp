// SPDX-License-Identifier: BSD-3-Clause
// The limits for a burst; tests/eal has those by traffic class.
#include "dedup/pipeline/confidence_policy.h"

#include <gtest/gtest.h>

namespace unecho::pipeline {
namespace {

CostRatios equal_ratios(float ratio) {
    CostRatios ratios;
    ratios.fill(ratio);
    return ratios;
}

float limit_of(const ConfidencePolicy& confidence) {
    std::array<float, kMaxBurst> each{};
    return confidence.limits(Burst{}, each).at(0);
}

TEST(ConfidencePolicy, bound_is_the_same_for_all_whatever_comes) {
    ConfidencePolicy confidence = ConfidencePolicy::bound(1e-5F);
    for (unsigned i = 0; i < 10'000; ++i) {
        confidence.learn(~std::uint64_t{0}, 64);
    }
    EXPECT_EQ(limit_of(confidence), 1e-5F);
    EXPECT_FALSE(confidence.needs_chance());
}

TEST(ConfidencePolicy, penalty_begins_with_even_odds) {
    EXPECT_DOUBLE_EQ(ConfidencePolicy::penalty(equal_ratios(0.25F)).echo_share(), 0.5);
    EXPECT_FLOAT_EQ(limit_of(ConfidencePolicy::penalty(equal_ratios(0.25F))), 0.25F);
}

// A quarter are echoes: odds of 1 to 3.
TEST(ConfidencePolicy, penalty_follows_the_share_of_echoes) {
    ConfidencePolicy confidence = ConfidencePolicy::penalty(equal_ratios(0.3F));
    confidence.set_chance(0);
    for (unsigned i = 0; i < 100'000; ++i) {
        confidence.learn(0x1111111111111111, 64);
    }
    EXPECT_NEAR(confidence.echo_share(), 0.25, 1e-4);
    EXPECT_NEAR(limit_of(confidence), 0.1, 1e-4);
    for (unsigned i = 0; i < 100'000; ++i) {
        confidence.learn(0x7777777777777777, 64);
    }
    EXPECT_NEAR(confidence.echo_share(), 0.75, 1e-4);
    EXPECT_NEAR(limit_of(confidence), 0.9, 1e-3);
}

// 3/8 of all packets match. Since 1/6 of those that are no echo match, 1/4 are echoes.
TEST(ConfidencePolicy, penalty_takes_accidents_out_of_the_share) {
    ConfidencePolicy confidence = ConfidencePolicy::penalty(equal_ratios(1));
    confidence.set_chance(1.0F / 6);
    for (unsigned i = 0; i < 100'000; ++i) {
        confidence.learn(0b00100101, 8);
    }
    EXPECT_NEAR(confidence.echo_share(), 0.25, 1e-3);
}

// Old answers are forgotten together with their accidents.
TEST(ConfidencePolicy, penalty_forgets_an_overload) {
    ConfidencePolicy confidence = ConfidencePolicy::penalty(equal_ratios(1));
    confidence.set_chance(0.5F);
    for (unsigned i = 0; i < 10'000; ++i) {
        confidence.learn(0b0101, 4);
    }
    EXPECT_LT(confidence.echo_share(), 1e-3);
    confidence.set_chance(1e-6F);
    for (unsigned i = 0; i < 1'000'000; ++i) {
        confidence.learn(0b0001, 4);
    }
    EXPECT_NEAR(confidence.echo_share(), 0.25, 1e-2);
}

TEST(ConfidencePolicy, penalty_of_nothing_but_echoes_or_accidents_is_finite) {
    ConfidencePolicy confidence = ConfidencePolicy::penalty(equal_ratios(1e-6F));
    confidence.set_chance(0);
    for (unsigned i = 0; i < 1'000'000; ++i) {
        confidence.learn(~std::uint64_t{0}, 64);
    }
    EXPECT_GT(limit_of(confidence), 0.5F);
    confidence.set_chance(1);
    for (unsigned i = 0; i < 1'000'000; ++i) {
        confidence.learn(~std::uint64_t{0}, 64);
    }
    EXPECT_GE(confidence.echo_share(), 0);
    EXPECT_LE(confidence.echo_share(), 1);
}

TEST(ConfidencePolicy, penalty_asks_for_the_chance_at_once_and_then_now_and_then) {
    ConfidencePolicy confidence = ConfidencePolicy::penalty(equal_ratios(1));
    EXPECT_TRUE(confidence.needs_chance());
    confidence.set_chance(0);
    unsigned asked = 0;
    for (unsigned i = 0; i < 1024; ++i) {
        confidence.learn(0, 32);
        if (confidence.needs_chance()) {
            ++asked;
            confidence.set_chance(0);
        }
    }
    EXPECT_EQ(asked, 32U);
}

}  // namespace
}  // namespace unecho::pipeline
