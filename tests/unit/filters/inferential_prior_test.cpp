// SPDX-License-Identifier: BSD-3-Clause
#include "filters/inferential_prior.h"

#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "filters/sizing/inferential.h"
#include "filters/window/segmented/btbf.h"
#include "support/seed.h"

namespace unecho::filter::inferential_prior_test {
namespace {

// Ages in insertions, by definition.
class Ages {
  public:
    std::optional<std::uint64_t> insert(std::uint64_t key) {
        const auto [found, fresh] = last_.try_emplace(key, now_);
        std::optional<std::uint64_t> age;
        if (!fresh) {
            age = now_ - found->second - 1;
            found->second = now_;
        }
        ++now_;
        return age;
    }

  private:
    std::map<std::uint64_t, std::uint64_t> last_;
    std::uint64_t now_ = 0;
};

TEST(echo_share, is_the_share_of_answers) {
    EchoShare share(1000);
    EXPECT_EQ(share.share(0.25, 0), 0.25);
    share.add(true);
    share.add(false);
    share.add(0b1011, 6);
    EXPECT_EQ(share.answers(), 8u);
    EXPECT_DOUBLE_EQ(share.share(0.25, 0), 0.5);
}

TEST(echo_share, false_positives_are_taken_out) {
    EchoShare share(1000);
    share.add(0b11, 10);
    EXPECT_NEAR(share.share(0, 0.1), 0.1 / 0.9, 1e-15);
    EXPECT_EQ(share.share(0, 0.2), 0);
    EXPECT_EQ(share.share(0, 0.3), 0);
    EchoShare all(1000);
    all.add(~0ULL, 64);
    EXPECT_EQ(all.share(0, 0.3), 1);
}

TEST(echo_share, follows_a_stream_that_changes) {
    EchoShare share(100);
    for (unsigned i = 0; i < 10'000; ++i) {
        share.add(i % 2 == 0);
    }
    EXPECT_NEAR(share.share(0, 0), 0.5, 0.02);
    EXPECT_LT(share.answers(), 200u);
    EXPECT_GE(share.answers(), 100u);
    for (unsigned i = 0; i < 1'000; ++i) {
        share.add(false);
    }
    EXPECT_LT(share.share(0, 0), 0.01);
}

TEST(distinct_curve, knows_nothing_at_first) {
    DistinctCurve curve(1000);
    EXPECT_EQ(curve.at_power(0), 1);
    EXPECT_EQ(curve.at_power(32), std::exp2(32));
    curve.add_new();
    EXPECT_EQ(curve.at_power(5), 32);
    EXPECT_EQ(curve.keys(), 1u);
}

TEST(distinct_curve, is_the_mean_of_the_cut_distance) {
    DistinctCurve curve(1000);
    const std::vector<std::uint64_t> ages{0, 0, 1, 2, 3, 7, 8, 100, ~std::uint64_t{0}};
    for (const std::uint64_t age : ages) {
        curve.add(age);
    }
    curve.add_new();
    for (unsigned e = 0; e < DistinctCurve::kOctaves; ++e) {
        const double j = std::exp2(e);
        double sum = j;  // the new one
        for (const std::uint64_t age : ages) {
            sum += std::min(static_cast<double>(age) + 1, j);
        }
        EXPECT_NEAR(curve.at_power(e), sum / 10, 1e-12 * j) << e;
    }
}

TEST(distinct_curve, without_accidents_nothing_is_taken_out) {
    DistinctCurve shown(1000);
    shown.add(3);
    shown.add(77);
    shown.add_new();
    const DistinctCurve none(1000);
    DistinctCurve always(1000);
    always.add(0);
    for (unsigned e = 0; e < 20; ++e) {
        EXPECT_NEAR(distinct_at_power(shown, none, e), shown.at_power(e), 1e-6);
        EXPECT_NEAR(distinct_at_power(shown, always, e), shown.at_power(e), 1e-6);
    }
}

// Halving keeps the learned means, and forgets them when the stream changes.
TEST(distinct_curve, halving_keeps_means_and_follows_changes) {
    SCOPED_TRACE(test::seed_note());
    std::mt19937_64 random(test::seed());
    DistinctCurve curve(5000);
    Ages ages;
    const auto feed = [&](unsigned keys, std::uint64_t universe) {
        for (unsigned i = 0; i < keys; ++i) {
            const auto age = ages.insert(random() % universe);
            if (age) {
                curve.add(*age);
            } else {
                curve.add_new();
            }
        }
    };
    const auto expect_uniform = [&](double universe) {
        for (unsigned e = 0; e < 12; ++e) {
            const double d = sizing::distinct_uniform(std::exp2(e), universe);
            EXPECT_NEAR(curve.at_power(e) / d, 1, 0.05) << universe << " " << e;
        }
    };
    feed(100'000, 400);
    expect_uniform(400);
    EXPECT_GE(curve.keys(), 4900u);
    EXPECT_LT(curve.keys(), 10'000u);
    feed(100'000, 50);
    expect_uniform(50);
}

}  // namespace
}  // namespace unecho::filter::inferential_prior_test
