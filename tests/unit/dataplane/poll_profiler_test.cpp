// SPDX-License-Identifier: BSD-3-Clause
// The test controls the clock. tests/eal/stall_test.cpp tests the profiler with ports.
#include "appliance/dataplane/poll_profiler.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace unecho::dataplane {
namespace {

constexpr Nanoseconds kThreshold = 250 * kMicrosecond;
constexpr Nanoseconds kPoll = 2 * kMicrosecond;

class Watched : public testing::Test {
  protected:
    Watched() {
        common_.clock = {0, std::uint64_t{1} << 32, &now_};
        watch_ = std::make_unique<PollProfiler>(PollProfilerSetup{kThreshold, {}}, common_,
                                                *counters_, *stalls_, stage_);
    }

    // End a poll that took this many packets, `time` after it began.
    void poll(unsigned packets, Nanoseconds time = kPoll, bool full = false) {
        now_ += time;
        watch_->end_poll({packets, full});
        watch_->begin_poll(now_);
    }
    // Let time pass in a stage of a poll.
    void spend(Stage stage, Nanoseconds time) {
        watch_->enter(stage);
        now_ += time;
    }
    std::vector<Stall> stalls() {
        std::vector<Stall> out;
        for (Stall stall; stalls_->pop(stall);) {
            out.push_back(stall);
        }
        return out;
    }
    std::uint64_t polls_of(Nanoseconds took) {
        return counters_->poll_times.polls[PollTimes::bucket_of(took)];
    }

    std::uint64_t now_ = 5 * kSecond;
    WorkerParameters common_;
    std::unique_ptr<Counters> counters_ = std::make_unique<Counters>();
    std::unique_ptr<StallQueue> stalls_ = std::make_unique<StallQueue>();
    std::atomic<Stage> stage_{Stage::kUnknown};
    std::unique_ptr<PollProfiler> watch_;
};

TEST(PollTimes, fall_into_powers_of_two) {
    EXPECT_EQ(PollTimes::bucket_of(0), 0U);
    for (unsigned i = 0; i + 1 < PollTimes::kBuckets; ++i) {
        EXPECT_EQ(PollTimes::bucket_of(PollTimes::below(i) - 1), i);
        EXPECT_EQ(PollTimes::bucket_of(PollTimes::below(i)), i + 1);
    }
    EXPECT_EQ(PollTimes::below(0), 64U);
    EXPECT_EQ(PollTimes::bucket_of(~Nanoseconds{0}), PollTimes::kBuckets - 1);
}

// All time from one poll to the next belongs to the first.
TEST_F(Watched, time_is_busy_or_idle_and_nothing_is_left_over) {
    const Nanoseconds begin = now_;
    watch_->begin(now_);
    watch_->begin_poll(now_);
    poll(0, 100);
    poll(32, 2000);
    poll(0, 150);
    poll(1, 700);
    watch_->report();
    EXPECT_EQ(counters_->idle, 250U);
    EXPECT_EQ(counters_->busy, 2700U);
    EXPECT_EQ(counters_->idle + counters_->busy, now_ - begin);
    EXPECT_EQ(polls_of(100), 1U);
    EXPECT_EQ(polls_of(150), 1U);
    EXPECT_EQ(polls_of(700), 1U);
    EXPECT_EQ(polls_of(2000), 1U);
    EXPECT_EQ(counters_->stalls, 0U);
    EXPECT_TRUE(stalls().empty());
}

TEST_F(Watched, a_poll_of_the_threshold_is_none_and_a_longer_one_is_a_stall) {
    watch_->begin_poll(now_);
    poll(3, kThreshold);
    EXPECT_EQ(counters_->stalls, 0U);
    const Nanoseconds begin = now_;
    poll(7, kThreshold + 1);
    ASSERT_EQ(counters_->stalls, 1U);
    const std::vector<Stall> found = stalls();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].begin, begin);
    EXPECT_EQ(found[0].took, kThreshold + 1);
    EXPECT_EQ(found[0].packets, 7U);
    EXPECT_EQ(found[0].queued_before, Stall::kUnknown) << "no driver tells";
    EXPECT_EQ(found[0].queued_after, Stall::kUnknown);
    poll(7, kPoll);
    EXPECT_EQ(counters_->stalls, 1U) << "each is counted once";
}

TEST_F(Watched, in_a_worker_with_time_to_spare_the_stage_is_known) {
    watch_->begin_poll(now_);
    for (std::size_t i = 0; i < kStages; ++i) {
        const auto stage = static_cast<Stage>(i);
        poll(5);
        for (const Stage each : {Stage::kReceive, Stage::kParse, Stage::kSteer, Stage::kDigest,
                                 Stage::kDecide, Stage::kTransmit, Stage::kReport}) {
            spend(each, each == stage ? kThreshold : 10 * kMicrosecond);
        }
        // Time before the first stage and after the last is attributed as well.
        poll(5, stage == Stage::kMaintain ? 0 : kPoll);
        const std::vector<Stall> found = stalls();
        if (stage == Stage::kMaintain) {
            continue;
        }
        ASSERT_EQ(found.size(), 1U) << kStageNames[i];
        EXPECT_EQ(found[0].stage, stage) << kStageNames[i];
    }
    now_ += kThreshold;
    spend(Stage::kReceive, kPoll);
    poll(5);
    const std::vector<Stall> found = stalls();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].stage, Stage::kMaintain);
}

// If a worker is away twice in one poll, the longer time is reported.
TEST_F(Watched, the_stage_is_the_one_in_which_most_time_passed_at_once) {
    watch_->begin_poll(now_);
    poll(5);
    spend(Stage::kReceive, kThreshold);
    spend(Stage::kDecide, 2 * kThreshold);
    spend(Stage::kReceive, kThreshold);
    poll(5);
    const std::vector<Stall> found = stalls();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].stage, Stage::kDecide);
    EXPECT_EQ(found[0].took, 4 * kThreshold + kPoll);
}

TEST_F(Watched, a_worker_at_its_limit_looks_closely_only_for_some_polls_after_a_stall) {
    watch_->begin_poll(now_);
    const auto stalled = [&] {
        spend(Stage::kDigest, kThreshold);
        poll(32, kPoll, true);
        const std::vector<Stall> found = stalls();
        EXPECT_EQ(found.size(), 1U);
        return found.empty() ? Stage::kUnknown : found[0].stage;
    };
    poll(32, kPoll, true);
    EXPECT_EQ(stalled(), Stage::kUnknown);
    EXPECT_EQ(stalled(), Stage::kDigest);
    for (unsigned i = 0; i + 1 < PollProfiler::kCloseAfterStall; ++i) {
        poll(32, kPoll, true);
    }
    EXPECT_EQ(stalled(), Stage::kDigest);
    for (unsigned i = 0; i < PollProfiler::kCloseAfterStall; ++i) {
        poll(32, kPoll, true);
    }
    EXPECT_EQ(stalled(), Stage::kUnknown);
}

// The stage is readable even if the worker does not return to report it.
TEST_F(Watched, the_stage_that_it_is_in_stands_for_the_control_thread_at_every_step) {
    watch_->begin_poll(now_);
    for (unsigned i = 0; i < 3; ++i) {
        poll(32, kPoll, true);
        EXPECT_EQ(stage_.load(), Stage::kMaintain);
        for (const Stage stage : {Stage::kReceive, Stage::kDecide, Stage::kTransmit}) {
            watch_->enter(stage);
            EXPECT_EQ(stage_.load(), stage);
        }
    }
}

TEST_F(Watched, stalls_that_nobody_fetches_are_counted_and_the_first_are_kept) {
    watch_->begin_poll(now_);
    constexpr unsigned kMany = 100;
    for (unsigned i = 0; i < kMany; ++i) {
        poll(i, kThreshold + 1);
    }
    EXPECT_EQ(counters_->stalls, kMany);
    const std::vector<Stall> found = stalls();
    ASSERT_EQ(found.size(), 64U);
    EXPECT_EQ(found.front().packets, 0U);
    EXPECT_EQ(found.back().packets, 63U);
}

TEST_F(Watched, the_time_before_a_worker_began_is_no_poll) {
    now_ += kSecond;
    watch_->begin(now_);
    watch_->begin_poll(now_ += 10);
    watch_->report();
    EXPECT_EQ(counters_->stalls, 0U);
    EXPECT_EQ(counters_->busy + counters_->idle, 10U);
}

TEST_F(Watched, a_worker_that_begins_again_goes_on_counting) {
    watch_->begin_poll(now_);
    poll(3, 1000);
    poll(0, 500);
    now_ += kSecond;
    watch_->begin(now_);
    watch_->begin_poll(now_);
    poll(3, 70);
    watch_->report();
    EXPECT_EQ(counters_->busy, 1070U);
    EXPECT_EQ(counters_->idle, 500U);
}

// The counters of two CPUs may differ by some nanoseconds.
TEST_F(Watched, a_clock_that_steps_back_a_little_makes_no_long_poll) {
    watch_->begin_poll(now_);
    now_ -= 20;
    watch_->begin_poll(now_);
    watch_->report();
    EXPECT_EQ(counters_->busy + counters_->idle, 0U);
    EXPECT_EQ(counters_->stalls, 0U);
}

}  // namespace
}  // namespace unecho::dataplane
