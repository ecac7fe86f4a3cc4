// SPDX-License-Identifier: BSD-3-Clause
// Rotation timer and worker on a virtual clock. Each may stall anywhere: the timer before and after
// it publishes, the worker between its reads of turns and clock and before it queries the filter.
// The other one acts at random meanwhile. In half of the schedules generations also end early.
// Thousands of schedules are checked against exact times.
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <random>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "appliance/timers/rotation_timer.h"
#include "filters/ageing.h"
#include "property/generations/lane.h"
#include "support/sanitizers.h"
#include "support/seed.h"

namespace unecho::test {
namespace {

// A worker's clock reading may differ by so much from its place in the program, because of
// out-of-order execution.
constexpr Nanoseconds kReorder = 400;
constexpr unsigned kKeys = 24;
// From this k on, a false match (k segments by accident) occurs about once in 10^9 queries. The
// patterns of the line filter are that reliable for any k.
constexpr unsigned kSureK = 3;

struct Tally {
    std::uint64_t echoes_due = 0;  // queries inside the window, which must be echoes
    std::uint64_t news_due = 0;  // queries beyond window, slack and delays, or so many generations
    std::uint64_t skips = 0;     // times that several generations turned while the worker was away
    std::uint64_t early = 0;     // generations that ended early
    std::uint64_t short_window = 0;  // queries inside a window that early ends had shortened
};

template <typename F>
class World {
  public:
    World(const Shape& shape, std::uint64_t seed, Tally& tally)
        : shape_(shape),
          tally_(tally),
          random_(seed),
          length_(2 * kMicrosecond + random_() % (48 * kMicrosecond)),
          now_(kMicrosecond + random_() % kSecond),
          begun_(now_),
          context_(shape),
          ageing_(
              {.window = shape.l * length_, .length = length_, .retained_generations = shape.l}),
          early_(random_() % 2 == 0),
          rotation_(shared_, length_, now_) {}

    // Return "", or what went wrong.
    std::string run(unsigned steps) {
        for (unsigned i = 0; i < steps && wrong_.empty(); ++i) {
            step();
        }
        return wrong_;
    }

  private:
    bool chance(unsigned percent) { return random_() % 100 < percent; }

    // Let time pass: mostly little, sometimes longer than anything is remembered.
    void pass() {
        const Nanoseconds spans[] = {50,          50,      kMicrosecond, kMicrosecond,
                                     length_ / 4, length_, length_,      3 * length_};
        const Nanoseconds all = (shape_.l + shape_.k) * length_;
        now_ += random_() % (chance(2) ? 3 * all : spans[random_() % std::size(spans)]);
    }

    // Let time pass; then timer and worker may act, unless they are stalled.
    void step() {
        pass();
        if (!in_timer_ && chance(50)) {
            in_timer_ = true;
            tick();
            in_timer_ = false;
        }
        if (!in_worker_ && chance(60)) {
            in_worker_ = true;
            poll();
            in_worker_ = false;
        }
    }

    void stall(unsigned percent) {
        while (chance(percent)) {
            step();
        }
    }

    Nanoseconds stalled_clock(unsigned percent) {
        stall(percent);
        const Nanoseconds now = now_;
        stall(percent);
        return now;
    }

    void tick() {
        std::optional<Nanoseconds> first;
        const bool turned = rotation_.tick([&] {
            const Nanoseconds now = stalled_clock(10);
            first = first.value_or(now);
            return now;
        });
        begun_ = turned ? *first : begun_;
        if (chance(80)) {
            context_.zeroer().step();
        }
    }

    // Poll like dataplane::Worker: maintain, read the moment, query.
    void poll() {
        if (chance(50)) {
            context_.maintain();
            adopt(read());
        }
        stall(10);
        const filter::Moment moment = read();
        stall(10);
        adopt(moment);
        for (auto n = 1 + random_() % 4; n > 0 && wrong_.empty(); --n) {
            if (early_ && chance(5)) {
                ++tally_.early;
                adopt(ageing_.turn_early());
            }
            ask(random_() % kKeys, moment.now);
        }
    }

    // Read turns and clock in either order.
    filter::Moment read() {
        std::uint64_t turns = shared_.turns;
        const Nanoseconds now = stalled_clock(15) - kReorder + random_() % (2 * kReorder + 1);
        if (chance(50)) {
            turns = shared_.turns;
        }
        return ageing_.advance_to({now, turns});
    }

    void adopt(filter::Moment moment) {
        tally_.skips += moment.generation > adopted_ + 1 ? 1 : 0;
        context_.filter().advance(moment);
        if (moment.generation != adopted_ || chance(5)) {
            context_.exchange();
        }
        adopted_ = moment.generation;
    }

    [[nodiscard]] bool sure() const { return !TestedLane<F>::kSegmented || shape_.k >= kSureK; }

    void ask(std::size_t key, Nanoseconds now) {
        const bool echo = context_.filter().test_and_insert(remix(key, 77));
        if (inserted_[key]) {
            judge(key, now, now - *inserted_[key], echo);
        } else if (echo && sure()) {
            fail("an echo of nothing", key, 0);
        }
        if (!echo || shape_.policy == filter::EchoPolicy::kRefresh) {
            inserted_[key] = now;
            generation_[key] = adopted_;
        }
    }

    void judge(std::size_t key, Nanoseconds now, Nanoseconds age, bool echo) {
        const Nanoseconds achieved = ageing_.state(now).achieved;
        if (!early_ && achieved != shape_.l * length_) {
            fail("a window shorter than configured", key, age);
        }
        if (age < achieved) {
            ++tally_.echoes_due;
            tally_.short_window += achieved < shape_.l * length_ ? 1 : 0;
            if (!echo) {
                fail("a miss inside the window", key, age);
            }
        }
        // The timer reports the longest of the finished generations; the present one may be longer.
        const Nanoseconds longest = std::max(rotation_.longest(), now_ - begun_);
        const unsigned all = shape_.l + shape_.k;
        if ((age >= all * longest + 2 * kReorder || adopted_ - generation_[key] >= all) && sure()) {
            ++tally_.news_due;
            if (echo) {
                fail("remembered beyond window, slack and delays", key, age);
            }
        }
    }

    void fail(const char* what, std::size_t key, Nanoseconds age) {
        wrong_ = std::string(what) + ": key " + std::to_string(key) + ", age " +
                 std::to_string(age) + " ns, window " + std::to_string(shape_.l * length_) +
                 " ns, generations of " + std::to_string(length_) + " to " +
                 std::to_string(rotation_.longest()) + " ns, number " + std::to_string(adopted_);
    }

    Shape shape_;
    Tally& tally_;
    std::mt19937_64 random_;
    Nanoseconds length_;
    Nanoseconds now_;
    Nanoseconds begun_;  // before the present generation became visible
    dataplane::FilterShared shared_;
    TestedLane<F> context_;
    filter::Ageing ageing_;
    bool early_;
    appliance::RotationTimer rotation_;
    bool in_timer_ = false;
    bool in_worker_ = false;
    std::uint64_t adopted_ = 0;
    std::array<std::optional<Nanoseconds>, kKeys> inserted_;
    std::array<std::uint64_t, kKeys> generation_{};  // in which the key was inserted
    std::string wrong_;
};

constexpr auto kFixed = filter::EchoPolicy::kFixed;
constexpr auto kRefresh = filter::EchoPolicy::kRefresh;
constexpr std::array kShapes{Shape{1, 1, kFixed}, Shape{1, 4, kFixed},   Shape{2, 3, kRefresh},
                             Shape{3, 1, kFixed}, Shape{3, 5, kRefresh}, Shape{4, 4, kFixed},
                             Shape{5, 2, kFixed}};
// In ticks: 1, 2, 4 and 16 a generation.
constexpr std::array kLineShapes{Shape{1, 7, kFixed}, Shape{2, 6, kRefresh}, Shape{4, 12, kFixed},
                                 Shape{4, 28, kRefresh}, Shape{32, 96, kFixed}};

template <typename F>
struct Schedules {
    static constexpr std::span<const Shape> kOf = kShapes;
    static constexpr unsigned kEach = 700;  // schedules of each shape
    static constexpr unsigned kSteps = 150;
};
template <>
struct Schedules<filter::LineFilter> {
    static constexpr std::span<const Shape> kOf = kLineShapes;
    static constexpr unsigned kEach = 120;
    static constexpr unsigned kSteps = 1200;  // a window has up to 96 ticks
};

template <typename F>
class GenerationSchedules : public testing::Test {};
using Filters = testing::Types<filter::Apbf, filter::Apbbf, filter::LineFilter>;
TYPED_TEST_SUITE(GenerationSchedules, Filters);

TYPED_TEST(GenerationSchedules, never_miss_inside_the_window_and_forget_behind_slack_and_delays) {
    SCOPED_TRACE(seed_note());
    constexpr std::span<const Shape> kOf = Schedules<TypeParam>::kOf;
    constexpr unsigned kEach = quarter_under_asan(Schedules<TypeParam>::kEach);
    constexpr unsigned kSteps = Schedules<TypeParam>::kSteps;
    Tally tally;
    for (std::size_t s = 0; s < kOf.size(); ++s) {
        for (unsigned i = 0; i < kEach; ++i) {
            const std::uint64_t own = remix(seed(), s * kEach + i);
            const std::string wrong = World<TypeParam>(kOf[s], own, tally).run(kSteps);
            ASSERT_EQ(wrong, "") << "k = " << kOf[s].k << ", l = " << kOf[s].l << ", schedule "
                                 << i;
        }
    }
    // Each situation occurred often enough for the test to mean something.
    EXPECT_GT(tally.echoes_due, quarter_under_asan(10'000U));
    EXPECT_GT(tally.news_due, quarter_under_asan(1'000U));
    EXPECT_GT(tally.skips, quarter_under_asan(1'000U));
    EXPECT_GT(tally.early, quarter_under_asan(1'000U));
    EXPECT_GT(tally.short_window, quarter_under_asan(1'000U));
}

}  // namespace
}  // namespace unecho::test
