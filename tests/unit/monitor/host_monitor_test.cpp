// SPDX-License-Identifier: BSD-3-Clause
// HostMonitor has its own threads: it polls while others read.
#include "monitor/server/host_monitor.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "base/os/clock.h"
#include "fake_appliance.h"

namespace unecho::monitor {
namespace {

bool wait_for(const auto& condition) {
    const Nanoseconds end = steady_now() + 60 * kSecond;
    while (!condition() && steady_now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return condition();
}

class HostMonitorTest : public WithFolder {
  protected:
    HostMonitorSpec spec() {
        return {.folders = {folder_},
                .expected =
                    [this] {
                        const std::lock_guard lock(mutex_);
                        return expected_;
                    },
                .interval = 10 * kMillisecond};
    }
    void expect(std::vector<std::string> names) {
        const std::lock_guard lock(mutex_);
        expected_ = std::move(names);
    }
    HostMonitor::Log log() {
        return [this](const std::string& line) {
            const std::lock_guard lock(mutex_);
            lines_.push_back(line);
        };
    }
    bool said(const std::string& line) {
        const std::lock_guard lock(mutex_);
        return std::find(lines_.begin(), lines_.end(), line) != lines_.end();
    }
    // Wait until the only appliance has this state.
    static bool becomes(const HostMonitor& monitor, ApplianceState state) {
        return wait_for([&] {
            const ApplianceStatuses all = monitor.appliances();
            return all.size() == 1 && all[0]->state == state;
        });
    }
    static bool is_empty(const HostMonitor& monitor) {
        return wait_for([&] { return monitor.appliances().empty(); });
    }
    std::unique_ptr<FakeAppliance> taps() {
        return std::make_unique<FakeAppliance>(folder_, "taps", answers_of(healthy()));
    }

  private:
    std::mutex mutex_;
    std::vector<std::string> expected_;
    std::vector<std::string> lines_;
};

TEST_F(HostMonitorTest, finds_those_that_come_and_says_so) {
    const HostMonitor monitor(spec(), log());
    EXPECT_TRUE(monitor.appliances().empty());
    {
        const auto running = taps();
        EXPECT_TRUE(wait_for([&] { return said("taps answers"); }));
        ASSERT_EQ(monitor.appliances().size(), 1U);
        EXPECT_FALSE(monitor.appliances()[0]->expected);
        EXPECT_EQ(Json::parse(*monitor.history("", 5))["name"], "taps");
        EXPECT_FALSE(monitor.history("other", 5));
    }
    EXPECT_TRUE(wait_for([&] { return said("taps is gone: it is not running"); }));
    EXPECT_EQ(monitor.appliances()[0]->state, ApplianceState::kGone);
}

TEST_F(HostMonitorTest, reports_an_expected_one_that_never_came) {
    expect({"taps"});
    const HostMonitor monitor(spec(), log());
    ASSERT_TRUE(becomes(monitor, ApplianceState::kAbsent));
    const auto absent = monitor.appliances()[0];
    EXPECT_EQ(absent->name, "taps");
    EXPECT_TRUE(absent->expected);
    EXPECT_EQ(absent->starts, 0U);
    EXPECT_EQ(absent->health.headline, "The appliance has not come up.");
    EXPECT_EQ(absent->health.findings.at(0).rule, "absent");
    EXPECT_TRUE(wait_for([&] {
        return said(
            "taps is absent: it is expected, and has not answered since this server "
            "started");
    }));
    auto running = taps();
    ASSERT_TRUE(becomes(monitor, ApplianceState::kRunning));
    EXPECT_TRUE(monitor.appliances()[0]->expected);
    running.reset();
    ASSERT_TRUE(becomes(monitor, ApplianceState::kGone));
    EXPECT_EQ(monitor.appliances()[0]->health.findings.at(0).rule, "down");
}

TEST_F(HostMonitorTest, follows_what_is_expected) {
    const HostMonitor monitor(spec(), log());
    expect({"taps"});
    ASSERT_TRUE(becomes(monitor, ApplianceState::kAbsent));
    expect({});
    EXPECT_TRUE(is_empty(monitor));
}

// Its socket is in another folder than the one that was tried first.
TEST_F(HostMonitorTest, finds_an_expected_one_in_any_folder) {
    expect({"taps"});
    HostMonitorSpec both = spec();
    both.folders = {folder_ + "/first", folder_};
    const HostMonitor monitor(std::move(both), log());
    ASSERT_TRUE(becomes(monitor, ApplianceState::kAbsent));
    const auto running = taps();
    EXPECT_TRUE(becomes(monitor, ApplianceState::kRunning));
}

TEST_F(HostMonitorTest, forgets_one_that_is_gone_and_not_expected) {
    HostMonitor monitor(spec(), log());
    EXPECT_EQ(monitor.forget("taps").error().code, Errc::kNotFound);
    auto running = taps();
    ASSERT_TRUE(becomes(monitor, ApplianceState::kRunning));
    EXPECT_EQ(monitor.forget("taps").error().context,
              "\"taps\" is running; allowed: an appliance that is gone");
    running.reset();
    expect({"taps"});
    ASSERT_TRUE(becomes(monitor, ApplianceState::kGone));
    ASSERT_TRUE(wait_for([&] { return monitor.appliances()[0]->expected; }));
    EXPECT_EQ(monitor.forget("taps").error().code, Errc::kBusy);
    expect({});
    ASSERT_TRUE(wait_for([&] { return !monitor.appliances()[0]->expected; }));
    EXPECT_TRUE(monitor.forget("taps"));
    EXPECT_TRUE(monitor.appliances().empty()) << "at once";
    EXPECT_FALSE(monitor.history("", 5));
    running = taps();
    EXPECT_TRUE(becomes(monitor, ApplianceState::kRunning)) << "it may come back";
}

TEST_F(HostMonitorTest, forgets_after_a_time_those_that_are_not_expected) {
    HostMonitorSpec soon = spec();
    soon.forget_after = 50 * kMillisecond;
    const HostMonitor monitor(std::move(soon), log());
    auto running = taps();
    ASSERT_TRUE(becomes(monitor, ApplianceState::kRunning));
    expect({"taps"});
    ASSERT_TRUE(wait_for([&] { return monitor.appliances()[0]->expected; }));
    running.reset();
    ASSERT_TRUE(becomes(monitor, ApplianceState::kGone));
    const Nanoseconds since = monitor.appliances()[0]->since;
    ASSERT_TRUE(wait_for([&] { return unix_now() > since + kSecond; }));
    EXPECT_EQ(monitor.appliances().size(), 1U) << "it is expected";
    expect({});
    EXPECT_TRUE(is_empty(monitor));
    EXPECT_TRUE(said("taps is forgotten: it was not expected, and is gone for 50 ms"));
}

TEST_F(HostMonitorTest, has_the_history_of_the_server_before) {
    const auto running = taps();
    const auto kept = [&](const std::string& name) {
        HostMonitorSpec out = spec();
        out.folders = {folder_};
        auto folder = HistoryFolder::open(folder_ + "/" + name);
        EXPECT_TRUE(folder);
        out.history = folder ? *folder : nullptr;
        return out;
    };
    // Return the time of the first sample, in ms; 0 while there is none.
    const auto first_time = [](const HostMonitor& monitor) -> std::uint64_t {
        const auto text = monitor.history("taps", History::kSamples);
        const Json times = text ? Json::parse(*text)["times_ms"] : Json::array();
        return times.size() < 3 ? 0 : times[0].get<std::uint64_t>();
    };
    std::uint64_t before = 0;
    {
        const HostMonitor monitor(kept("history"), log());
        ASSERT_TRUE(wait_for([&] { return first_time(monitor) != 0; }));
        before = first_time(monitor);
    }
    {
        const HostMonitor monitor(kept("history"), log());
        ASSERT_TRUE(wait_for([&] { return first_time(monitor) != 0; }));
        EXPECT_EQ(first_time(monitor), before);
    }
    const HostMonitor monitor(kept("other"), log());
    ASSERT_TRUE(wait_for([&] { return first_time(monitor) != 0; }));
    EXPECT_GT(first_time(monitor), before);
}

}  // namespace
}  // namespace unecho::monitor
