// SPDX-License-Identifier: BSD-3-Clause
// How keys are forgotten: the share of a generation that is still an echo after it left the window,
// and the effect of duplicates on the false-positive rate.
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "filters/sizing/fpr.h"
#include "statistical/model.h"
#include "support/seed.h"

namespace unecho::test::slack_test {
namespace {

constexpr std::uint64_t kInstances = 60;  // independent tables, one every k + l generations

template <typename Shape>
auto slack_match(const Shape& shape, unsigned i) {
    return [k = shape.k, l = shape.l, i](const sizing::Profile& r) {
        return sizing::slack_match(k, l, r, i);
    };
}

// Queries all keys of the last l + k + 1 generations just before each shift.
template <typename Shape>
class Ages {
  public:
    explicit Ages(const Shape& shape) : shape_(shape), table_(shape), g_(generation_keys(shape)) {
        const std::uint64_t cycle = shape.k + shape.l;
        for (std::uint64_t generation = 0; generation < cycle * (2 + kInstances); ++generation) {
            turn(generation);
            if (keys_.size() > cycle) {
                ask();
            }
        }
    }

    [[nodiscard]] std::uint64_t matches(unsigned age) const { return matches_.at(age); }
    [[nodiscard]] double asked() const { return static_cast<double>(asked_); }
    [[nodiscard]] Rate predicted(unsigned age) const {
        const unsigned i = age < shape_.l ? 0 : age - shape_.l;
        return rate_of(fills_of(shape_, kSteady, g_, g_), kInstances, slack_match(shape_, i));
    }

  private:
    void turn(std::uint64_t generation) {
        table_.filter.advance({.generation = generation});
        keys_.emplace_front();
        for (std::uint64_t i = 0; i < g_; ++i) {
            keys_.front().push_back(random_());
            table_.filter.insert(keys_.front().back());
        }
        if (keys_.size() > shape_.k + shape_.l + 1) {
            keys_.pop_back();
        }
    }

    void ask() {
        asked_ += g_;
        for (std::size_t age = 0; age < keys_.size(); ++age) {
            for (const Digest key : keys_[age]) {
                matches_[age] += table_.filter.query(key) ? 1 : 0;
            }
        }
    }

    Shape shape_;
    Instance<Shape> table_;
    std::uint64_t g_;
    std::mt19937_64 random_{seed()};
    std::deque<std::vector<Digest>> keys_;  // keys of each generation, the present one first
    std::vector<std::uint64_t> matches_ = std::vector<std::uint64_t>(shape_.k + shape_.l + 1);
    std::uint64_t asked_ = 0;  // keys for each age
};

template <typename Shape>
void check_decay(const Shape& shape) {
    SCOPED_TRACE(seed_note());
    const Ages<Shape> ages(shape);
    for (unsigned age = 0; age <= shape.l; ++age) {
        EXPECT_EQ(static_cast<double>(ages.matches(age)), ages.asked()) << "age " << age;
    }
    for (unsigned age = shape.l + 1; age <= shape.l + shape.k; ++age) {
        expect_count(ages.matches(age), counts_of(ages.predicted(age), ages.asked()),
                     "keys of age " + std::to_string(age) + " that match");
    }
}

// Check the sum over all ages of the slack against the formula that sizing reports. The formula
// omits runs that are entirely foreign, which add at most the false-positive rate at each age.
template <typename Shape>
void check_npws(const Shape& shape) {
    SCOPED_TRACE(seed_note());
    const Ages<Shape> ages(shape);
    double measured = 0;
    double low = 0;
    double high = 0;
    sizing::Profile r;
    const std::uint64_t g = generation_keys(shape);
    for (const Fill& fill : fills_of(shape, kSteady, g, g)) {
        r.push_back(fill.mean);
    }
    const double foreign = sizing::false_positive_rate(shape.k, shape.l, r);
    double by_chance = 1;
    for (unsigned i = 0; i < shape.k; ++i) {
        const Rate table{by_chance, ages.predicted(shape.l + i).deviation};
        const Rate most{std::min(1.0, by_chance + foreign), table.deviation};
        measured += static_cast<double>(ages.matches(shape.l + i));
        low += counts_of(table, ages.asked()).low;
        high += counts_of(most, ages.asked()).high;
        by_chance *= r[shape.l + i];
    }
    const double scale = ages.asked() * shape.l;
    EXPECT_GE(measured / scale, low / scale);
    EXPECT_LE(measured / scale, high / scale);
    // The allowed range must stay within 4 % of npws(), or the test proves nothing about it.
    const double formula = sizing::npws(shape.k, shape.l, r);
    EXPECT_GE(low / scale, 0.96 * formula);
    EXPECT_LE(high / scale, 1.04 * formula);
}

class ApbfDecay : public ::testing::TestWithParam<ApbfShape> {};
class ApbbfDecay : public ::testing::TestWithParam<ApbbfShape> {};
class ApbfNpws : public ::testing::TestWithParam<ApbfShape> {};
class ApbbfNpws : public ::testing::TestWithParam<ApbbfShape> {};

const auto kName = [](const auto& info) { return info.param.name(); };

TEST_P(ApbfDecay, each_generation_after_the_window_matches_as_predicted) {
    check_decay(GetParam());
}
TEST_P(ApbbfDecay, each_generation_after_the_window_matches_as_predicted) {
    check_decay(GetParam());
}
TEST_P(ApbfNpws, agrees_with_the_formula) {
    check_npws(GetParam());
}
TEST_P(ApbbfNpws, agrees_with_the_formula) {
    check_npws(GetParam());
}

INSTANTIATE_TEST_SUITE_P(, ApbfDecay,
                         ::testing::Values(ApbfShape{1, 6, 4'000}, ApbfShape{4, 3, 8'000, 1.3},
                                           ApbfShape{7, 5, 10'007}, ApbfShape{6, 9, 6'000, 0.6}),
                         kName);
INSTANTIATE_TEST_SUITE_P(, ApbbfDecay,
                         ::testing::Values(ApbbfShape{1, 4, 512, 4, 60},
                                           ApbbfShape{2, 5, 64, 4, 500, 0.7},
                                           ApbbfShape{4, 3, 512, 2, 60, 1.4}),
                         kName);
INSTANTIATE_TEST_SUITE_P(, ApbfNpws,
                         ::testing::Values(ApbfShape{10, 9, 10'000}, ApbfShape{9, 11, 8'000, 0.8}),
                         kName);
INSTANTIATE_TEST_SUITE_P(, ApbbfNpws,
                         ::testing::Values(ApbbfShape{2, 5, 512, 8, 60},
                                           ApbbfShape{3, 8, 512, 4, 60}),
                         kName);

// --- Duplicates ---

struct Measured {
    std::uint64_t matches = 0;
    std::uint64_t insertions = 0;
    std::uint64_t generations = 0;
};

// Query foreign keys just before each shift, in the steady state.
template <typename Shape, typename Packets>
Measured measure(const Shape& shape, filter::EchoPolicy policy, std::uint64_t queries,
                 Packets packets) {
    std::mt19937_64 random(seed());
    Instance<Shape> table(shape, policy);
    const std::uint64_t cycle = shape.k + shape.l;
    Measured out;
    for (std::uint64_t generation = 0; generation < cycle * (2 + kInstances); ++generation) {
        table.filter.advance({.generation = generation});
        const std::uint64_t before = table.filter.counters().insertions;
        packets(table.filter, random);
        if (generation >= 2 * cycle) {
            out.insertions += table.filter.counters().insertions - before;
            out.generations += 1;
            for (std::uint64_t i = 0; i < queries; ++i) {
                out.matches += table.filter.query(random()) ? 1 : 0;
            }
        }
    }
    return out;
}

template <typename Shape>
void check_duplicates(const Shape& shape) {
    SCOPED_TRACE(seed_note());
    constexpr std::uint64_t kQueries = 8'000;
    const std::uint64_t g = generation_keys(shape);
    const double trials =
        static_cast<double>(kQueries) * (shape.k + shape.l) * static_cast<double>(kInstances);
    const auto counts_with = [&](std::uint64_t keys) {
        const Rate rate = rate_of(fills_of(shape, kSteady, keys, keys), kInstances,
                                  [&](const sizing::Profile& r) {
                                      return sizing::false_positive_rate(shape.k, shape.l, r);
                                  });
        return counts_of(rate, trials);
    };

    // Fixed: an echo leaves no trace, so only insertions matter. New keys that matched were not
    // inserted; the others set more bits than random keys would.
    const Measured fixed = measure(shape, filter::EchoPolicy::kFixed, kQueries,
                                   [&](auto& filter, std::mt19937_64& random) {
                                       std::vector<Digest> keys;
                                       for (std::uint64_t i = 0; i < g / 2; ++i) {
                                           keys.push_back(random());
                                           filter.test_and_insert(keys.back());
                                           filter.test_and_insert(keys[random() % keys.size()]);
                                       }
                                   });
    const std::uint64_t keys = fixed.insertions / fixed.generations;
    EXPECT_LE(keys, g / 2);
    expect_count(fixed.matches, {counts_with(keys).low, counts_with(g / 2).high}, "fixed");

    // Refresh: an echo in its own generation sets bits that are set already.
    const Measured refreshed = measure(shape, filter::EchoPolicy::kRefresh, kQueries,
                                       [&](auto& filter, std::mt19937_64& random) {
                                           for (std::uint64_t i = 0; i < g / 2; ++i) {
                                               const Digest key = random();
                                               filter.test_and_insert(key);
                                               filter.test_and_insert(key);
                                           }
                                       });
    EXPECT_EQ(refreshed.insertions, refreshed.generations * (g / 2 * 2));
    expect_count(refreshed.matches, counts_with(g / 2), "refresh");

    EXPECT_LT(static_cast<double>(fixed.matches), counts_with(g).low);
    EXPECT_LT(static_cast<double>(refreshed.matches), counts_with(g).low);
}

class ApbfDuplicates : public ::testing::TestWithParam<ApbfShape> {};
class ApbbfDuplicates : public ::testing::TestWithParam<ApbbfShape> {};

TEST_P(ApbfDuplicates, lower_the_rate_to_that_of_the_keys) {
    check_duplicates(GetParam());
}
TEST_P(ApbbfDuplicates, lower_the_rate_to_that_of_the_keys) {
    check_duplicates(GetParam());
}

INSTANTIATE_TEST_SUITE_P(, ApbfDuplicates, ::testing::Values(ApbfShape{5, 7, 8'000, 1.5}), kName);
INSTANTIATE_TEST_SUITE_P(, ApbbfDuplicates, ::testing::Values(ApbbfShape{2, 5, 512, 4, 100, 1.5}),
                         kName);

}  // namespace
}  // namespace unecho::test::slack_test
