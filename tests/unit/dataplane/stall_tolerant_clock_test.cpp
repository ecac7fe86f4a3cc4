// SPDX-License-Identifier: BSD-3-Clause
// The time by which a worker decides when it is sometimes away. There is a simulated clock, a queue
// whose packets have true arrival times, and filters that are exact in the worker's time.
#include "appliance/dataplane/stall_tolerant_clock.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace unecho::dataplane {
namespace {

constexpr Nanoseconds kWindow = 10 * kMillisecond;
constexpr Nanoseconds kLimit = StallTolerantClock::limit_for(kWindow);
constexpr Nanoseconds kStep = 5 * kMicrosecond;  // between two polls of a running worker
constexpr unsigned kGenerations = 5;
constexpr Nanoseconds kLength = kWindow / kGenerations;
constexpr unsigned kBurst = 8;
constexpr unsigned kDescriptors = 64;

StallTolerantClockSpec spec() {
    return {kLimit, kWindow, (kDescriptors + kBurst - 1) / kBurst};
}

// A key's last insertion: true arrival, clock when processed, and the time or generation recorded.
struct Filed {
    Nanoseconds arrived = 0;
    Nanoseconds clock = 0;
    std::uint64_t as = 0;
};

// An exact filter by time or generation. It counts its errors by true times.
class Judged {
  public:
    Judged(std::uint64_t through, Nanoseconds slack) : through_(through), slack_(slack) {}

    void see(unsigned key, Nanoseconds arrived, Nanoseconds clock, std::uint64_t now,
             const StallTolerantClock& presence) {
        const auto found = filed_.find(key);
        if (found != filed_.end()) {
            const Filed& first = found->second;
            ASSERT_GE(now, first.as) << "time went back";
            if (now - first.as < through_) {
                ++echoes_;
                if (clock - first.clock >= kWindow + slack_) {
                    ++late_;
                    unsaid_ += presence.late(kWindow + slack_) ? 0 : 1;
                }
                return;
            }
            // An arriving packet waits for a step at most, unless the worker is away.
            missed_ += arrived - first.arrived + kStep < kWindow ? 1 : 0;
        }
        filed_[key] = {arrived, clock, now};
    }

    std::uint64_t echoes_ = 0;
    std::uint64_t missed_ = 0;  // forgotten inside the window
    std::uint64_t late_ = 0;    // dropped though older than window and slack, by the clock
    std::uint64_t unsaid_ = 0;  // of these, not reported by late()

  private:
    std::uint64_t through_;
    Nanoseconds slack_;
    std::map<unsigned, Filed> filed_;
};

// A worker with its queue and clock.
class Scene {
  public:
    Scene(std::uint64_t seed, const StallTolerantClockSpec& spec) : random_(seed), clock_(spec) {
        now_ = draw(kSecond);
        next_ = now_;
        clock_.begin(now_);
    }

    Nanoseconds draw(Nanoseconds below) { return random_() % below; }

    // Poll once, then let time pass. The worker may be preempted for `amid` between receiving and
    // reading the clock.
    void poll(Nanoseconds amid = 0) {
        clock_.begin_poll(now_);
        const std::size_t n = std::min<std::size_t>(queue_.size(), kBurst);
        if (n != 0) {
            pass(amid);
            const Nanoseconds time = clock_.at(now_);
            const std::uint64_t word = clock_.turns(3, now_ / kLength);
            for (std::size_t i = 0; i < n; ++i) {
                const auto [key, arrived] = queue_.front();
                queue_.pop_front();
                by_time_.see(key, arrived, now_, time, clock_);
                by_word_.see(key, arrived, now_, word, clock_);
            }
        }
        clock_.end_poll(static_cast<unsigned>(n), n < kBurst);
    }

    // Let time pass. Packets arrive meanwhile, as long as the queue has room.
    void pass(Nanoseconds time) {
        for (now_ += time; next_ <= now_; next_ += draw(4 * kStep)) {
            if (queue_.size() < kDescriptors) {
                queue_.emplace_back(static_cast<unsigned>(draw(500)), next_);
            }
        }
    }

    std::mt19937_64 random_;
    StallTolerantClock clock_;
    Nanoseconds now_ = 0;
    Nanoseconds next_ = 0;  // next arrival
    std::deque<std::pair<unsigned, Nanoseconds>> queue_;
    Judged by_time_{kWindow, 0};
    Judged by_word_{kGenerations + 1, kLength};
};

// Run a worker that is sometimes away for up to three windows, also between receive and decision.
void live(Scene& scene, unsigned gaps) {
    for (unsigned i = 0; i < gaps; ++i) {
        const unsigned polls = 1 + kLimit / kStep + scene.draw(3 * kWindow / kStep);
        for (unsigned poll = 0; poll < polls; ++poll) {
            scene.poll();
            scene.pass(kStep);
        }
        const Nanoseconds gap = kLimit + 1 + scene.draw(3 * kWindow);
        if (scene.draw(3) == 0) {
            scene.poll(gap);
            scene.pass(kStep);
        } else {
            scene.pass(gap);
        }
    }
}

class PresenceOf : public testing::TestWithParam<unsigned> {};

TEST_P(PresenceOf, a_worker_that_is_away_at_times_never_shortens_a_window) {
    Scene scene(GetParam(), spec());
    live(scene, 20);
    for (const Judged* judged : {&scene.by_time_, &scene.by_word_}) {
        EXPECT_EQ(judged->missed_, 0U);
        EXPECT_EQ(judged->unsaid_, 0U) << "of " << judged->late_;
        EXPECT_GT(judged->echoes_, 1000U);
        EXPECT_GT(judged->late_, 0U) << "or nothing was at stake";
    }
    EXPECT_GT(scene.clock_.gaps(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PresenceOf, testing::Range(0U, 6U));

// Proves that the test above can fail.
TEST(StallTolerantClock, of_a_worker_that_judges_by_the_clock_would_miss_copies) {
    Scene scene(1, StallTolerantClockSpec{});
    live(scene, 30);
    EXPECT_GT(scene.by_time_.missed_, 10U);
    EXPECT_GT(scene.by_word_.missed_, 10U);
    EXPECT_EQ(scene.by_time_.late_, 0U);
}

TEST(StallTolerantClock, counts_gaps_above_the_window_and_keeps_the_longest) {
    StallTolerantClock presence(spec());
    Nanoseconds now = 3 * kSecond;
    presence.begin(now);
    const auto after = [&](Nanoseconds gap) {
        presence.begin_poll(now += gap);
        presence.end_poll(0, true);
    };
    after(kWindow);
    EXPECT_EQ(presence.gaps(), 0U);
    EXPECT_EQ(presence.longest_gap(), kWindow);
    after(kWindow + 1);
    after(kStep);
    after(2 * kWindow);
    EXPECT_EQ(presence.gaps(), 2U);
    EXPECT_EQ(presence.longest_gap(), 2 * kWindow);
    now += 3 * kWindow;
    presence.at(now);
    EXPECT_EQ(presence.gaps(), 3U) << "amid a poll";
}

TEST(StallTolerantClock, forgets_a_gap_in_which_nothing_came) {
    StallTolerantClock presence(spec());
    Nanoseconds now = 0;
    presence.begin(now);
    for (int i = 0; i < 10; ++i) {
        presence.begin_poll(now += 2 * kWindow);
        presence.end_poll(0, true);
        presence.begin_poll(now += kStep);
        EXPECT_EQ(presence.time(), now);
        EXPECT_EQ(presence.turns(0, 7), 7U);
        EXPECT_FALSE(presence.late(kWindow));
        presence.end_poll(1, true);
    }
}

// The queue is never empty: all that waited has been received once it gave its capacity.
TEST(StallTolerantClock, goes_on_when_each_queue_has_given_what_it_holds) {
    StallTolerantClock presence(spec());
    Nanoseconds now = 0;
    presence.begin(now);
    presence.begin_poll(now += 2 * kWindow);
    for (unsigned poll = 1; poll < kDescriptors / kBurst; ++poll) {
        presence.end_poll(kBurst, false);
        presence.begin_poll(now += kStep);
        ASSERT_EQ(presence.time(), 0U) << poll;
    }
    presence.end_poll(kBurst, false);
    const Nanoseconds resumed = now;
    presence.begin_poll(now += kStep);
    EXPECT_EQ(presence.behind(), resumed);
    EXPECT_EQ(presence.time(), kStep);
    EXPECT_TRUE(presence.late(kStep + 1));
    EXPECT_FALSE(presence.late(kStep));
}

TEST(StallTolerantClock, of_a_worker_that_is_away_all_the_time_forgets_nevertheless) {
    StallTolerantClock presence(spec());
    Nanoseconds now = 0;
    presence.begin(now);
    for (int i = 0; i < 1000; ++i) {
        presence.begin_poll(now += 2 * kWindow);
        presence.end_poll(1, true);
    }
    EXPECT_GE(presence.time(), now / 3);
    const Nanoseconds before = presence.time();
    const Nanoseconds then = now;
    for (int i = 0; i < 1000; ++i) {  // also if queues are never empty
        presence.begin_poll(now += 2 * kWindow);
        presence.end_poll(kBurst, false);
    }
    EXPECT_GE(presence.time() - before, (now - then) / 16);
}

TEST(StallTolerantClock, limits_what_is_judged_late_by_an_eighth_or_a_millisecond) {
    EXPECT_EQ(StallTolerantClock::limit_for(20 * kMicrosecond), 20 * kMicrosecond);
    EXPECT_EQ(StallTolerantClock::limit_for(kMillisecond), kMillisecond);
    EXPECT_EQ(StallTolerantClock::limit_for(5 * kMillisecond), kMillisecond);
    EXPECT_EQ(StallTolerantClock::limit_for(80 * kMillisecond), 10 * kMillisecond);
}

}  // namespace
}  // namespace unecho::dataplane
