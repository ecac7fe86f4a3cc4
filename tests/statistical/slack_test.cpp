// SPDX-License-Identifier: BSD-3-Clause
// How keys are forgotten: the share of a generation that is still an echo after it left the window.
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

class ApbfDecay : public ::testing::TestWithParam<ApbfShape> {};
class ApbbfDecay : public ::testing::TestWithParam<ApbbfShape> {};
const auto kName = [](const auto& info) { return info.param.name(); };

TEST_P(ApbfDecay, each_generation_after_the_window_matches_as_predicted) {
    check_decay(GetParam());
}
TEST_P(ApbbfDecay, each_generation_after_the_window_matches_as_predicted) {
    check_decay(GetParam());
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
}  // namespace
}  // namespace unecho::test::slack_test
