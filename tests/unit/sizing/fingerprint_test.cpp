// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/window/fingerprint.h"

#include <gtest/gtest.h>

#include "filters/sizing/search.h"
#include "filters/window/fingerprint.h"

namespace unecho::sizing::fingerprint_test {
namespace {

FingerprintGeometry sized(Nanoseconds window, double rate, double bound, double spread = 0) {
    const auto found = size_fingerprint({window, rate, bound, spread});
    EXPECT_TRUE(found) << found.error().context;
    return found.value_or(FingerprintGeometry{});
}

TEST(size_fingerprint, takes_the_fewest_bits_that_are_never_in_doubt) {
    for (const auto& [bound, bits] : {std::pair{0.5, 13U},
                                      {1e-2, 13},
                                      {8.5e-3, 16},
                                      {1e-3, 16},
                                      {8.8e-4, 19},
                                      {1e-4, 19},
                                      {9.1e-5, 23},
                                      {1e-5, 23},
                                      {4.7e-6, 24},
                                      {2.2e-6, 26},
                                      {1e-6, 26},
                                      {5.3e-7, 32},
                                      {6.6e-9, 32}}) {
        EXPECT_EQ(sized(kSecond, 1e6, bound).bits, bits) << bound;
    }
}

TEST(size_fingerprint, has_lines_for_the_load_of_each_generation) {
    for (const double spread : {0.0, 6.0}) {
        for (const FingerprintShape& form : kFingerprintShapes) {
            const Targets targets{kSecond, 1e6, 2 * fingerprint_most_chance(form), spread};
            const FingerprintGeometry g = sized(kSecond, 1e6, targets.max_false_drop, spread);
            ASSERT_EQ(g.bits, form.bits);
            EXPECT_EQ(g.lines % 2, 0U);
            const std::uint64_t load = load_within(generation_length(kSecond, form.l), targets);
            EXPECT_GE(fingerprint_capacity(g) + 1, load);
            EXPECT_LT(fingerprint_capacity({g.bits, g.l, g.lines - 2}), load);
            const Prediction p = predict(g, kSecond, 1e6);
            EXPECT_EQ(p.room, fingerprint_capacity(g));
            EXPECT_LE(p.false_drop, fingerprint_most_chance(form) + 1e-12);
            EXPECT_EQ(p.slack, generation_length(kSecond, form.l) * (form.l + 1) - kSecond);
            EXPECT_EQ(p.lines_per_packet, 2);
        }
    }
}

TEST(size_fingerprint, never_takes_fewer_lines_than_the_formula_is_for) {
    EXPECT_EQ(sized(kMillisecond, 1000, 1e-3).lines, kMinFingerprintLines);
}

TEST(size_fingerprint, what_cannot_be_is_refused) {
    EXPECT_FALSE(size_fingerprint({0, 1e6, 1e-3}));
    const auto too_sure = size_fingerprint({kSecond, 1e6, 1e-9});
    ASSERT_FALSE(too_sure);
    EXPECT_EQ(too_sure.error().context,
              "fingerprints of 32 bits are the longest; allowed: max_false_drop of at least "
              "6.5e-09");
    const auto too_large = size_fingerprint({3600 * kSecond, 1e11, 1e-3});
    ASSERT_FALSE(too_large);
    EXPECT_NE(too_large.error().context.find("32 GiB"), std::string::npos)
        << too_large.error().context;
}

// Sizing stays so far below the load at which losses begin that the formula may be wrong by much.
TEST(fingerprint_loss, is_below_what_a_window_may_have_at_the_planned_load) {
    for (const FingerprintShape& form : kFingerprintShapes) {
        SCOPED_TRACE(form.bits);
        EXPECT_LT(fingerprint_loss(form, form.keys_of_line), 1e-29);
        EXPECT_LT(fingerprint_loss(form, 1.02 * form.keys_of_line), 1e-14);
        EXPECT_LT(fingerprint_moves(form, form.keys_of_line), 1.0 / 75);
        // It gives away less than 5 % of the memory.
        EXPECT_GT(fingerprint_loss(form, 1.05 * form.keys_of_line), 1e-20);
    }
}

// Nothing moves through lines that are hardly used, and little else where all are full.
TEST(fingerprint_loss, of_empty_and_of_full_lines) {
    const FingerprintShape& form = kFingerprintShapes.back();
    EXPECT_LT(fingerprint_moves(form, 1), 1e-12);
    EXPECT_EQ(fingerprint_loss(form, 1), 0);
    EXPECT_GT(fingerprint_moves(form, 3.0 * form.slots), 0.5);
    EXPECT_GT(fingerprint_loss(form, 3.0 * form.slots), 0.5);
}

TEST(complete_fingerprint, adds_what_follows_and_refuses_the_rest) {
    const auto whole = complete_fingerprint({.bits = 24, .lines = 1001});
    ASSERT_TRUE(whole);
    EXPECT_EQ(*whole, (FingerprintGeometry{24, 28, 1002}));
    const auto bits = complete_fingerprint({.bits = 20, .lines = 100});
    ASSERT_FALSE(bits);
    EXPECT_EQ(bits.error().context,
              "bits of a fingerprint 20; allowed: 13, 16, 19, 23, 24, 26 or 32");
    const auto lines = complete_fingerprint({.bits = 16, .lines = 1});
    ASSERT_FALSE(lines);
    EXPECT_EQ(lines.error().context, "lines 1; allowed: 2 to 536870912");
}

TEST(predict_fingerprint, of_a_geometry_alone_is_at_its_capacity_and_no_line_is_more_than_full) {
    const FingerprintGeometry g{16, 10, 4096};
    const Prediction own = predict(g, kSecond, std::nullopt);
    EXPECT_EQ(own.generation_keys, fingerprint_capacity(g));
    EXPECT_NEAR(own.bits_per_key, 512 / 25.2, 0.1);
    EXPECT_NEAR(own.false_drop, 2 * 25.2 * 11 / 10 / 65536, 1e-6);
    EXPECT_EQ(own.bytes, 4096 * 64 + kFingerprintTableBytes);
    EXPECT_NEAR(predict(g, kSecond, 1e9).false_drop, 58.0 / 65536, 1e-8);
}

TEST(size_fingerprint, what_it_answers_the_filter_takes) {
    for (const double bound : {1e-2, 1e-4, 1e-6, 1e-8}) {
        const FingerprintGeometry g = sized(kSecond, 1e5, bound);
        const auto params = filter::FingerprintParams::make({.bits = g.bits, .lines = g.lines});
        ASSERT_TRUE(params);
        EXPECT_EQ(params->l(), g.l);
        EXPECT_EQ(filter::FingerprintFilter::bytes(*params),
                  predict(g, kSecond, std::nullopt).bytes);
    }
}

}  // namespace
}  // namespace unecho::sizing::fingerprint_test
