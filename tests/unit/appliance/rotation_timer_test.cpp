// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/timers/rotation_timer.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace unecho::appliance {
namespace {

constexpr Nanoseconds kLength = 50 * kMicrosecond;

// Records each reading of a clock, and the turns published at that time.
class Recorder {
  public:
    explicit Recorder(const dataplane::FilterShared& shared) : shared_(shared) {}

    Nanoseconds read() {
        readings_.push_back({now_, shared_.turns.load()});
        return now_;
    }
    void pass(Nanoseconds time) { now_ += time; }
    [[nodiscard]] Nanoseconds now() const { return now_; }

    // Return when generation g was certainly not visible yet; visible() when it certainly was.
    [[nodiscard]] Nanoseconds before(std::uint64_t g) const {
        Nanoseconds last = 0;
        for (const Reading& r : readings_) {
            last = r.turns < g ? r.time : last;
        }
        return last;
    }
    [[nodiscard]] Nanoseconds visible(std::uint64_t g) const {
        return std::find_if(readings_.begin(), readings_.end(),
                            [&](const Reading& r) { return r.turns >= g; })
            ->time;
    }

  private:
    struct Reading {
        Nanoseconds time;
        std::uint64_t turns;
    };
    const dataplane::FilterShared& shared_;
    Nanoseconds now_ = 1000;
    std::vector<Reading> readings_;
};

TEST(RotationTimer, keeps_the_margin_for_reordered_reads) {
    dataplane::FilterShared shared;
    RotationTimer rotation(shared, kLength, 500);
    EXPECT_GT(rotation.due(), 500 + kLength);
    Nanoseconds now = rotation.due();
    EXPECT_TRUE(rotation.tick([&] { return now; }));
    EXPECT_GT(rotation.due(), now + kLength);
}

TEST(RotationTimer, two_on_one_thread_do_not_touch_each_other) {
    dataplane::FilterShared a;
    dataplane::FilterShared b;
    Nanoseconds now = 0;
    RotationTimer short_one(a, kLength, now);
    RotationTimer long_one(b, 10 * kLength, now);
    for (; now < 9 * kLength; now += kMicrosecond) {
        short_one.tick([&] { return now; });
        long_one.tick([&] { return now; });
    }
    EXPECT_EQ(a.turns, 8U);  // each late by the margin
    EXPECT_EQ(b.turns, 0U);
}

class RotationClocks : public testing::TestWithParam<unsigned> {};

// Ticks come at any distance and stall anywhere. Turns are published one by one. From when one was
// certainly visible until the next was certainly not, at least a length passes. `longest` covers
// each generation from end to end.
TEST_P(RotationClocks, of_any_sequence_never_turn_early_and_report_the_longest) {
    std::mt19937_64 random(GetParam());
    dataplane::FilterShared shared;
    Recorder clock(shared);
    clock.pass(random() % 1000);
    const Nanoseconds length = 1 + random() % (2 * kLength);
    clock.read();
    RotationTimer rotation(shared, length, clock.now());
    const auto stall = [&] {
        const std::uint64_t scale[] = {0, 3, 1000, length / 2, length, 4 * length};
        const std::uint64_t most = scale[random() % 6];
        clock.pass(most == 0 ? 0 : random() % most);
    };
    for (int i = 0; i < 400; ++i) {
        stall();
        const std::uint64_t before = shared.turns;
        const bool turned = rotation.tick([&] {
            stall();
            const Nanoseconds now = clock.read();
            stall();
            return now;
        });
        ASSERT_EQ(shared.turns, before + (turned ? 1 : 0));
        clock.read();
    }
    const std::uint64_t last = shared.turns;
    ASSERT_GT(last, 20U);
    Nanoseconds longest = 0;
    for (std::uint64_t g = 0; g < last; ++g) {
        ASSERT_GE(clock.before(g + 1), clock.visible(g) + length) << "generation " << g;
        longest =
            std::max(longest, clock.visible(g + 1) - (g == 0 ? clock.visible(0) : clock.before(g)));
    }
    EXPECT_EQ(rotation.longest(), longest);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RotationClocks, testing::Range(0U, 50U));

}  // namespace
}  // namespace unecho::appliance
