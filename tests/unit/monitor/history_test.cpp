// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/server/history.h"

#include <gtest/gtest.h>

#include "seen.h"

namespace unecho::monitor {
namespace {

constexpr Nanoseconds kBegin = 1'700'000'000 * kSecond;

Json counted_to(std::uint64_t received, std::uint64_t echoes) {
    Json out = healthy();
    out["counters"]["received"] = received;
    out["routes"][0]["received"] = received;
    out["reasons"]["echo"] = echoes;
    out["routes"][0]["reasons"]["echo"] = echoes;
    out["audit"] = Json::array({{{"filter", "echo"}, {"counters", {{"sampled", received / 10}}}}});
    return out;
}

Json columns_of(const History& history, std::size_t samples) {
    return Json::parse("{" + history.columns(samples) + "}");
}

TEST(History, is_of_rates_between_looks) {
    History history;
    history.add(counted_to(1000, 100), kBegin, false);
    history.add(counted_to(1500, 350), kBegin + kSecond, true);
    history.add(counted_to(1600, 350), kBegin + 3 * kSecond, true);  // this sample came late
    const Json columns = columns_of(history, 10);
    EXPECT_EQ(columns["times_ms"], Json({1'700'000'000'000, 1'700'000'001'000, 1'700'000'003'000}));
    EXPECT_EQ(columns["totals"]["received"], Json({nullptr, 500.0, 50.0}));
    EXPECT_EQ(columns["routes"]["tap-a+tap-b>tool"]["echo_share"], Json({nullptr, 0.5, 0.0}));
    EXPECT_EQ(columns["ports"]["tap-a"]["rx_packets"], Json({nullptr, 0.0, 0.0}));
    EXPECT_EQ(columns["audit"]["echo"]["sampled"], Json({nullptr, 50.0, 5.0}));
}

TEST(History, is_of_paths_with_traffic) {
    History history;
    Json seen = healthy();
    seen["paths"] = two_paths();
    history.add(seen, kBegin, false);
    seen["paths"][0]["arrived"] = 10'000;
    seen["paths"][0]["missing"] = 53;
    history.add(seen, kBegin + kSecond, true);
    EXPECT_EQ(columns_of(history, 10)["paths"],
              Json({{"tap-a>tap-b", {{"arrived", {nullptr, 50.0}}, {"missing", {nullptr, 3.0}}}}}));
    EXPECT_TRUE(History::is_path({"paths", "tap-a>tap-b", "missing"}));
}

// The second sample was delayed by 1.9 s after its counters were read; the third came at once.
TEST(History, has_rates_of_the_appliances_own_time) {
    History history;
    for (const auto& [uptime, time] : {std::pair(5'000, 5'000), {6'000, 7'900}, {8'000, 8'001}}) {
        Json seen = counted_to(10 * uptime, 0);
        seen["info"]["uptime_ns"] = uptime * kMillisecond;
        history.add(seen, kBegin + time * kMillisecond, uptime != 5'000);
    }
    EXPECT_EQ(columns_of(history, 10)["totals"]["received"], Json({nullptr, 10'000, 10'000}));
}

TEST(History, knows_nothing_of_the_time_when_nothing_was_seen_and_between_two_processes) {
    History history;
    history.add(counted_to(1000, 0), kBegin, false);
    history.add_gap(kBegin + kSecond);
    history.add(counted_to(1200, 0), kBegin + 2 * kSecond, true);
    history.add(counted_to(5000, 0), kBegin + 3 * kSecond, false);
    history.add(counted_to(5001, 0), kBegin + 4 * kSecond, true);
    EXPECT_EQ(columns_of(history, 10)["totals"]["received"],
              Json({nullptr, nullptr, 100.0, nullptr, 1.0}));
    EXPECT_EQ(columns_of(history, 2)["totals"]["received"], Json({nullptr, 1.0}));
}

TEST(History, keeps_an_hour_and_what_comes_and_goes) {
    History history;
    for (std::size_t i = 0; i < History::kSamples + 10; ++i) {
        Json seen = {{"counters", {{"received", 10 * i}}}};
        if (i < 3) {
            seen["ports"] = Json::array({{{"name", "old"}, {"rx_packets", i}}});
        } else if (i > 1000) {
            seen["ports"] = Json::array({{{"name", "new"}, {"rx_packets", 3 * i}}});
        }
        history.add(seen, kBegin + i * kSecond, i != 0);
    }
    const Json columns = columns_of(history, 100'000);
    EXPECT_EQ(columns["times_ms"].size(), History::kSamples);
    EXPECT_EQ(columns["times_ms"][0], (kBegin + 10 * kSecond) / kMillisecond);
    EXPECT_EQ(columns["totals"]["received"][0], 10.0);
    EXPECT_FALSE(columns["ports"].contains("old")) << "nothing is left of it";
    const Json& fresh = columns["ports"]["new"]["rx_packets"];
    ASSERT_EQ(fresh.size(), History::kSamples);
    EXPECT_TRUE(fresh[0].is_null());
    EXPECT_EQ(fresh.back(), 3.0);
}

// Else its file would have more columns than its reader believes.
TEST(History, has_no_more_columns_than_a_file_may_have) {
    History history;
    for (std::uint64_t look = 1; look <= 2; ++look) {
        Json seen;
        for (std::size_t i = 0; i < History::kMaxColumns; ++i) {
            seen["routes"].push_back({{"name", std::to_string(i)},
                                      {"received", 10 * look},
                                      {"reasons", {{"echo", look}}}});
        }
        history.add(seen, kBegin + look * kSecond, look != 1);
    }
    EXPECT_EQ(history.all().rates.size(), History::kMaxColumns);
}

TEST(History, of_some_seconds_has_no_samples_from_before_a_gap) {
    History before;
    before.add(counted_to(1000, 0), kBegin, false);
    before.add(counted_to(1500, 500), kBegin + kSecond, true);
    History after;  // of a server that started half an hour later
    after.restore(before.all());
    after.add(counted_to(9000, 0), kBegin + 1800 * kSecond, false);
    after.add(counted_to(9001, 0), kBegin + 1801 * kSecond, true);
    EXPECT_EQ(columns_of(after, 3600)["totals"]["received"], Json({nullptr, 500.0, nullptr, 1.0}));
    EXPECT_EQ(columns_of(after, 3600)["routes"]["tap-a+tap-b>tool"]["echo_share"],
              Json({nullptr, 1.0, nullptr, 0.0}));
    EXPECT_EQ(columns_of(after, 60)["totals"]["received"], Json({nullptr, 1.0}));
    after.add_gap(kBegin + 5400 * kSecond);
    EXPECT_EQ(columns_of(after, 3600)["times_ms"].size(), 3U) << "the first are too old";
}

// With any names and number of samples requested, the answer is the end of the same columns.
TEST(History, answers_with_the_end_of_what_it_keeps) {
    History history;
    std::uint64_t received = 0;
    for (std::size_t i = 0; i < History::kSamples + 700; ++i) {
        if (i % 97 == 13) {
            history.add_gap(kBegin + i * kSecond);
            continue;
        }
        received += i * i % 1'000'003;
        Json seen = counted_to(received, received / 3);
        seen["ports"][0]["name"] = "";
        seen["routes"][0]["name"] = "\"},{\\";
        history.add(seen, kBegin + i * kSecond, i % 500 != 0);
    }
    const Json all = columns_of(history, History::kSamples);
    ASSERT_EQ(all["times_ms"].size(), History::kSamples);
    EXPECT_EQ(all["times_ms"].back(),
              (kBegin + (History::kSamples + 699) * kSecond) / kMillisecond);
    EXPECT_TRUE(all["ports"].contains(""));
    EXPECT_EQ(all["routes"]["\"},{\\"]["echo_share"].size(), History::kSamples);
    const auto last_of = [](const Json& column, std::size_t samples) {
        return Json(
            std::vector<Json>(column.end() - static_cast<std::ptrdiff_t>(samples), column.end()));
    };
    for (const std::size_t samples : {1, 2, 59, 1'000, 3'599}) {
        const Json some = columns_of(history, samples);
        EXPECT_EQ(some["times_ms"], last_of(all["times_ms"], samples));
        for (const char* block : {"totals", "reasons"}) {
            for (const auto& column : all[block].items()) {
                EXPECT_EQ(some[block][column.key()], last_of(column.value(), samples))
                    << column.key();
            }
        }
        for (const char* block : {"ports", "routes", "workers", "audit"}) {
            for (const auto& item : all[block].items()) {
                for (const auto& column : item.value().items()) {
                    EXPECT_EQ(some[block][item.key()][column.key()],
                              last_of(column.value(), samples))
                        << column.key();
                }
            }
        }
    }
}

}  // namespace
}  // namespace unecho::monitor
