// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/watchdog/stall_log.h"

#include <gtest/gtest.h>

#include "appliance/stats/events.h"
#include "base/os/clock.h"

namespace unecho::appliance {
namespace {

using dataplane::Stage;
using dataplane::Stall;

Stall stall_of(Nanoseconds took, Stage stage = Stage::kUnknown) {
    Stall stall;
    stall.took = took;
    stall.stage = stage;
    return stall;
}

TEST(LossLog, tells_what_was_lost_since_the_last_look_before_the_stall) {
    LossLog log(2);
    log.sample(0, 100, 5);
    log.sample(1, 100, 50);
    log.sample(0, 200, 7);
    log.sample(0, 300, 17);
    EXPECT_EQ(log.take(0, 250), 10U);
    EXPECT_EQ(log.take(1, 250), 0U);
}

TEST(LossLog, looks_back_over_several_looks_for_a_long_stall) {
    LossLog log(1);
    for (Nanoseconds time = 100; time <= 1000; time += 100) {
        log.sample(0, time, time / 10);
    }
    EXPECT_EQ(log.take(0, 350), 100U - 30U);
}

TEST(LossLog, tells_a_loss_once) {
    LossLog log(1);
    log.sample(0, 100, 5);
    log.sample(0, 200, 25);
    EXPECT_EQ(log.take(0, 110), 20U);
    EXPECT_EQ(log.take(0, 110), 0U) << "a second stall of the same time";
    log.sample(0, 300, 26);
    EXPECT_EQ(log.take(0, 110), 1U) << "only what came since";
}

TEST(LossLog, knows_nothing_of_before_its_first_look_and_of_counters_that_begin_anew) {
    LossLog log(1);
    EXPECT_EQ(log.take(0, 10), 0U);
    log.sample(0, 100, 40);
    EXPECT_EQ(log.take(0, 10), 0U);
    log.sample(0, 200, 3);
    EXPECT_EQ(log.take(0, 150), 0U);
}

class Lines : public testing::Test {
  protected:
    void add(Nanoseconds took, std::uint64_t lost = 0, std::size_t worker = 0) {
        log_.add(worker, 1, lost, stall_of(took, Stage::kReceive));
    }
    std::string line(Nanoseconds now) { return log_.line(now).value_or(""); }

    StallLog log_{{"worker 0 on lcore 3", "worker 1 on lcore 4"}};
};

TEST_F(Lines, are_none_where_nothing_happened) {
    EXPECT_EQ(line(0), "");
    EXPECT_EQ(line(kSecond), "");
}

TEST_F(Lines, say_who_how_long_where_and_what_was_lost) {
    add(300 * kMillisecond);
    EXPECT_EQ(line(0), "worker 0 on lcore 3 was held up for 300 ms in receive");
    Stall stall = stall_of(2 * kMillisecond);
    stall.queued_after = 512;
    log_.add(1, 1, 1234, stall);
    EXPECT_EQ(
        line(kSecond),
        "worker 1 on lcore 4 was held up for 2 ms, 512 packets queued then; 1,234 packets were "
        "lost at its ports meanwhile");
}

TEST_F(Lines, of_many_are_one_of_the_longest_with_their_number) {
    add(kMillisecond, 1);
    EXPECT_NE(line(0), "");
    for (unsigned i = 1; i <= 20; ++i) {
        add(i == 7 ? 9 * kMillisecond : kMillisecond, 2, i % 2);
        EXPECT_EQ(line(i * kMillisecond), "") << "a line was just said";
    }
    EXPECT_EQ(
        line(kSecond),
        "worker 1 on lcore 4 was held up for 9 ms in receive; 40 packets were lost at its ports "
        "meanwhile; with it 19 shorter ones since the last line");
}

// An hour of stalls gives about seventy lines, and a rare stall is always logged.
TEST_F(Lines, come_ever_less_often_while_it_goes_on) {
    unsigned lines = 0;
    for (Nanoseconds now = 0; now < 3600 * kSecond; now += 50 * kMillisecond) {
        add(kMillisecond);
        lines += line(now).empty() ? 0 : 1;
    }
    EXPECT_GE(lines, 60U);
    EXPECT_LE(lines, 70U);
    Nanoseconds now = 3600 * kSecond + 2 * StallLog::kLongestPause;
    line(now);
    now += 2 * StallLog::kLongestPause;
    for (unsigned i = 0; i < 5; ++i) {
        add(kMillisecond);
        EXPECT_NE(line(now), "");
        now += 3 * StallLog::kLongestPause;
    }
    add(kMillisecond);
    EXPECT_NE(line(now), "");
    add(kMillisecond);
    EXPECT_NE(line(now + StallLog::kShortestPause), "") << "after a quiet time as in the beginning";
}

TEST_F(Lines, leave_the_newest_of_each_worker) {
    for (unsigned i = 0; i < 100; ++i) {
        add(i + 1, i);
    }
    add(7, 8, 1);
    const std::vector<StallRecord> first = log_.of(0);
    ASSERT_EQ(first.size(), StallLog::kKept);
    EXPECT_EQ(first.front().number, 100 - StallLog::kKept + 1);
    EXPECT_EQ(first.back().number, 100U);
    EXPECT_EQ(first.back().stall.took, 100U);
    EXPECT_EQ(first.back().lost, 99U);
    const std::vector<StallRecord> second = log_.of(1);
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].number, 1U);
}

TEST(EventLog, keeps_the_newest_with_their_numbers_and_times) {
    EventLog log;
    EXPECT_TRUE(log.all().empty());
    const std::uint64_t before = unix_now();
    for (unsigned i = 1; i <= 70; ++i) {
        log.add(i % 2 == 0 ? event::kLink : event::kStall, "text " + std::to_string(i));
    }
    const std::uint64_t after = unix_now();
    const std::vector<Event> events = log.all();
    ASSERT_EQ(events.size(), EventLog::kKept);
    for (std::size_t i = 0; i < events.size(); ++i) {
        const std::uint64_t number = 70 - EventLog::kKept + 1 + i;
        EXPECT_EQ(events[i].number, number);
        EXPECT_EQ(events[i].text, "text " + std::to_string(number));
        EXPECT_EQ(events[i].kind, number % 2 == 0 ? "link" : "stall");
        EXPECT_GE(events[i].unix_ns, before);
        EXPECT_LE(events[i].unix_ns, after);
    }
}

}  // namespace
}  // namespace unecho::appliance
