// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/stats/counter_log.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace unecho::appliance {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t kStart = 1'700'000'000 * kSecond;  // since 1970

// A report after this time, with so many packets missed and keys inserted.
ordered_json counted(Nanoseconds uptime, std::uint64_t missed, std::uint64_t inserted) {
    return {{"uptime_ns", uptime},
            {"totals", {{"received", missed + 7}}},
            {"ports", {{{"name", "tap-a"}, {"rx_packets", 100U}, {"rx_missed", missed}}}},
            {"routes", {{{"name", "r"}, {"received", 5U}, {"reasons", {{"echo", 3U}}}}}},
            {"workers", {{{"lcore", 3}, {"stalls", 2U}}}},
            {"filters",
             {{{"name", "f"},
               {"insertions", inserted},
               {"audit", {{"misses", {{"explained", {{"stall", 2U}, {"load", 1U}}}}}}}}}},
            {"paths", {{{"name", "a>b"}, {"arrived", 9U}, {"missing", missed}, {"came", 11U}}}}};
}

class CounterLogTest : public testing::Test {
  protected:
    void add(Nanoseconds uptime, std::uint64_t missed, std::uint64_t inserted = 0) {
        log_.add(counted(uptime, missed, inserted), kStart + uptime);
    }
    [[nodiscard]] ordered_json port(Nanoseconds ago) const { return log_.past("ports", ago)[0]; }

    CounterLog log_;
};

TEST_F(CounterLogTest, keeps_the_counters_of_the_past) {
    for (unsigned i = 1; i <= 60; ++i) {
        add(i * CounterLog::kStep, i);
    }
    EXPECT_EQ(port(0)["rx_missed"], 60U);
    EXPECT_EQ(port(295 * kSecond)["rx_missed"], 30U) << "the last that is old enough";
    EXPECT_EQ(log_.past("totals", 300 * kSecond), (ordered_json{{"uptime_ns", 300 * kSecond},
                                                                {"newest_uptime_ns", 600 * kSecond},
                                                                {"received", 37U}}));
    EXPECT_EQ(log_.past("workers", 0)[0]["name"], "3");
    EXPECT_EQ(log_.past("routes", 0)[0]["echo"], 3U);
    EXPECT_EQ(log_.past("filters", 0)[0]["misses_explained"], 3U);
    const ordered_json path = log_.past("paths", 295 * kSecond)[0];
    EXPECT_EQ(path["name"], "a>b");
    EXPECT_EQ(path["missing"], 30U);
    EXPECT_EQ(path["arrived"], 9U);
    EXPECT_TRUE(path.contains("missing_from_ns") && path.contains("missing_quiet_ns"));
    EXPECT_FALSE(path.contains("came"));
    EXPECT_TRUE(log_.past("secrets", 0).is_null());
}

// An incident of less than half the time changes nothing, however many packets it had.
TEST_F(CounterLogTest, the_usual_share_of_echoes_is_a_median) {
    std::uint64_t received = 0;
    std::uint64_t echoes = 0;
    unsigned steps = 0;
    const auto pass = [&](unsigned n, std::uint64_t packets, std::uint64_t copies) {
        for (unsigned i = 0; i < n; ++i) {
            ordered_json report = counted(++steps * CounterLog::kStep, 0, 0);
            report["routes"][0]["received"] = received += packets;
            report["routes"][0]["reasons"] = {{"echo", (echoes += copies) / 2},
                                              {"echo_passed", echoes - echoes / 2}};
            log_.add(report, kStart + steps * CounterLog::kStep);
        }
    };
    const auto usual = [&](Nanoseconds ago) {
        return log_.past("routes", ago)[0].value("usual_echo_ppm", std::uint64_t{0});
    };
    pass(6, 1000, 400);
    EXPECT_EQ(usual(0), 0U) << "five steps are too few";
    pass(6, 1000, 400);
    EXPECT_EQ(usual(0), 400'000U);
    pass(10, 1'000'000, 0);
    pass(100, 49, 0);  // too few packets
    EXPECT_EQ(usual(0), 400'000U);
    pass(5, 1000, 0);
    EXPECT_EQ(usual(0), 0U);
    EXPECT_EQ(usual(5 * CounterLog::kStep), 400'000U) << "until then";
}

// Then all counters were 0, so that a reader judges the time since the start.
TEST_F(CounterLogTest, of_the_time_before_the_start_there_is_nothing) {
    EXPECT_EQ(log_.past("totals", 0)["uptime_ns"], 0U);
    EXPECT_TRUE(log_.past("ports", 0).empty());
    add(CounterLog::kStep, 5);
    EXPECT_EQ(log_.past("totals", 300 * kSecond)["uptime_ns"], 0U);
    EXPECT_FALSE(port(300 * kSecond).contains("rx_missed"));
}

TEST_F(CounterLogTest, keeps_an_hour) {
    for (unsigned i = 1; i <= 500; ++i) {
        add(i * CounterLog::kStep, i);
    }
    EXPECT_EQ(port(CounterLog::kSpan)["rx_missed"], 140U);
}

TEST_F(CounterLogTest, says_since_when_a_counter_grows) {
    add(10 * kSecond, 0);
    EXPECT_FALSE(port(0).contains("rx_missed_from_ns"));
    add(20 * kSecond, 4);
    add(30 * kSecond, 4);
    EXPECT_EQ(port(0)["rx_missed_from_ns"], kStart + 10 * kSecond);
    EXPECT_EQ(port(0)["rx_missed_quiet_ns"], 10 * kSecond);
    add(300 * kSecond, 5);
    EXPECT_EQ(port(0)["rx_missed_from_ns"], kStart + 10 * kSecond) << "the same incident";
    add(600 * kSecond, 5);
    add(610 * kSecond, 6);
    EXPECT_EQ(port(0)["rx_missed_from_ns"], kStart + 600 * kSecond)
        << "after a quiet time a new one";
}

// A filter that a reload replaced counts from 0.
TEST_F(CounterLogTest, a_counter_that_begins_again_grows) {
    add(10 * kSecond, 1000);
    add(400 * kSecond, 0);
    EXPECT_EQ(port(0)["rx_missed_quiet_ns"], 390 * kSecond);
    add(410 * kSecond, 3);
    EXPECT_EQ(port(0)["rx_missed_quiet_ns"], 0U);
    EXPECT_EQ(port(0)["rx_missed_from_ns"], kStart + 400 * kSecond);
    add(800 * kSecond, 1000);
    add(1200 * kSecond, 2);
    EXPECT_EQ(port(0)["rx_missed_quiet_ns"], 0U) << "and grew within a step";
}

TEST_F(CounterLogTest, a_reload_may_add_and_remove_what_is_counted) {
    add(10 * kSecond, 1);
    ordered_json more = counted(20 * kSecond, 2, 0);
    more["ports"].push_back({{"name", "tap-b"}, {"rx_packets", 9U}});
    log_.add(more, kStart + 20 * kSecond);
    EXPECT_EQ(log_.past("ports", 0).size(), 2U);
    EXPECT_EQ(log_.past("ports", 10 * kSecond)[0]["rx_missed"], 1U);
    add(30 * kSecond, 3);
    EXPECT_EQ(log_.past("ports", 0).size(), 1U);
}

TEST_F(CounterLogTest, finds_the_busiest_hour) {
    std::uint64_t keys = 0;
    for (unsigned i = 1; i <= 1080; ++i) {
        keys += i > 360 && i <= 720 ? 1000 : 10;
        add(i * CounterLog::kStep, 0, keys);
        if (i == 360) {
            EXPECT_EQ(log_.busiest_hour("f").rate, 0) << "no hour has passed";
        }
    }
    EXPECT_EQ(log_.busiest_hour("f").rate, 100);
    EXPECT_EQ(log_.busiest_hour("f").begin_unix_ns, kStart + 360 * CounterLog::kStep);
    EXPECT_EQ(log_.busiest_hour("g").rate, 0);
}

// A filter that a reload made anew counts from 0, and may then count more than before.
TEST_F(CounterLogTest, the_busiest_hour_is_of_one_filter) {
    std::uint64_t keys = 0;
    for (unsigned i = 1; i <= 750; ++i) {
        keys = i == 365 ? 0 : keys + (i < 365 ? 1 : 1000);
        add(i * CounterLog::kStep, 0, keys);
        EXPECT_LT(log_.busiest_hour("f").rate, i < 725 ? 0.2 : 101) << i;
    }
    EXPECT_EQ(log_.busiest_hour("f").rate, 100);
    EXPECT_EQ(log_.busiest_hour("f").begin_unix_ns, kStart + 390 * CounterLog::kStep);
}

}  // namespace
}  // namespace unecho::appliance
