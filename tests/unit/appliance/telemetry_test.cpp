// SPDX-License-Identifier: BSD-3-Clause
// Telemetry without DPDK's socket: this program registers the commands and calls them as the
// telemetry thread would. It can also make a registration fail.
#include "appliance/stats/telemetry.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rte_telemetry.h>

#include "appliance/stats/stats_fold.h"
#include "unit/appliance/plans.h"

namespace {

std::map<std::string, telemetry_cb>& registered() {
    static std::map<std::string, telemetry_cb> instance;
    return instance;
}

std::string refused;  // the command whose registration fails

std::vector<rte_tel_data*>& containers() {
    static std::vector<rte_tel_data*> instance;
    return instance;
}

}  // namespace

// Replaces DPDK's function: the program's own symbols take precedence.
extern "C" rte_tel_data* rte_tel_data_alloc() {
    static const auto original =
        reinterpret_cast<rte_tel_data* (*)()>(dlsym(RTLD_NEXT, "rte_tel_data_alloc"));
    return containers().emplace_back(original());
}

extern "C" int rte_telemetry_register_cmd(const char* cmd, telemetry_cb fn, const char* help) {
    constexpr std::size_t kLongestHelp = 127;
    if (cmd == refused || help == nullptr) {
        return -ENOMEM;
    }
    if (std::strlen(help) > kLongestHelp) {
        return -EINVAL;
    }
    registered()[cmd] = fn;
    return 0;
}

namespace unecho::appliance {
namespace {

class TelemetryCommands : public testing::Test {
  protected:
    TelemetryCommands() {
        registered().clear();
        refused.clear();
    }

    static int ask(const std::string& command, const char* parameter = nullptr) {
        rte_tel_data* data = rte_tel_data_alloc();
        const int code = registered().at(command)(command.c_str(), parameter, data);
        for (rte_tel_data* container : containers()) {  // DPDK does so as it prints them
            rte_tel_data_free(container);
        }
        containers().clear();
        return code;
    }

    Result<Telemetry> attach() {
        return Telemetry::attach(plan_,
                                 [this] {
                                     ++reports_;
                                     if (breaks_) {
                                         throw std::runtime_error("a bug");
                                     }
                                     StatsReport report = empty_report(plan_);
                                     report.events = events_.all();
                                     finish(report);
                                     return report;
                                 },
                                 {[this](bool) {
                                      ++reloads_;
                                      return ReloadAnswer{true, "nothing changes\n"};
                                  },
                                  [](std::uint64_t number) {
                                      return ReloadAnswer{true, "", number};
                                  }});
    }

    Plan plan_ =
        plan_of(taps_to_tool(), machine_with({0}), all_of(taps_to_tool(), device("net_null")));
    int reports_ = 0;
    int reloads_ = 0;
    bool breaks_ = false;
    EventLog events_;
};

TEST_F(TelemetryCommands, AnswerWhileAttachedAndNotAfterwards) {
    {
        const auto telemetry = attach();
        ASSERT_TRUE(telemetry);
        for (const auto& [name, callback] : registered()) {
            EXPECT_EQ(ask(name), 0) << name;
        }
        EXPECT_GE(reports_, 2);  // lists share one report
    }
    const int before = reports_;
    for (const auto& [name, callback] : registered()) {
        EXPECT_NE(ask(name), 0) << name;
    }
    EXPECT_EQ(reports_, before) << "what they would ask is gone";
}

// A failed answer must not end the process, which forwards packets.
TEST_F(TelemetryCommands, EndNothingWhereTheyCannotAnswer) {
    const auto telemetry = attach();
    ASSERT_TRUE(telemetry);
    breaks_ = true;
    EXPECT_EQ(ask("/unecho/counters"), -EIO);
    breaks_ = false;
    EXPECT_EQ(ask("/unecho/counters"), 0);
}

// Text from Redis, a file or a path may be in any language. DPDK 22.11 can write ASCII only.
TEST_F(TelemetryCommands, AnswerInAsciiWhateverWasSaid) {
    const auto telemetry = attach();
    ASSERT_TRUE(telemetry);
    std::string cyrillic;
    for (unsigned i = 0; i < 100; ++i) {
        cyrillic += "\xD0\xBA";
    }
    for (const std::string& text :
         {cyrillic, "x" + cyrillic, "xx" + cyrillic, "xxx" + cyrillic, std::string("\xFF\xC3"),
          std::string("\x1B[31m\xC2\x9B\x00z", 9), std::string(10'000, '\xE2')}) {
        events_.add(event::kRoot, text);
    }
    EXPECT_EQ(ask("/unecho/events"), 0);
    std::uint64_t last = 0;
    for (unsigned i = 0; i < 7; ++i) {
        const std::string answer = answer_read_command("/unecho/events," + std::to_string(i));
        for (const char c : answer) {
            ASSERT_TRUE(c >= ' ' && c < '\x7f') << static_cast<int>(c);
        }
        const auto event = nlohmann::json::parse(answer)["/unecho/events"]["0"];
        last = event["number"].get<std::uint64_t>();
        EXPECT_EQ(last, i + 1);
        EXPECT_LT(event["text"].get<std::string>().size(), RTE_TEL_MAX_STRING_LEN);
        if (event.contains("pieces")) {
            EXPECT_LE(event["pieces"].size(), 20U);
        }
    }
}

TEST_F(TelemetryCommands, OnTheMonitoringSocketOnlyRead) {
    const auto telemetry = attach();
    ASSERT_TRUE(telemetry);
    EXPECT_EQ(nlohmann::json::parse(answer_read_command("/unecho/info"))["/unecho/info"]["name"],
              plan_.name);
    EXPECT_TRUE(
        nlohmann::json::parse(answer_read_command("/unecho/ports,0"))["/unecho/ports"].contains(
            "rx_packets"));
    for (const std::string name : {"/unecho/reload", "/unecho/acknowledge", "/eal/heap_info", "/",
                                   "", "/unecho/inf", "/unecho/info/", "\xFF\x1B"}) {
        for (const std::string parameter : {"", ",dry-run", ",-1"}) {
            const auto answer = nlohmann::json::parse(answer_read_command(name + parameter));
            EXPECT_TRUE(answer.begin().value().is_null()) << name << parameter;
        }
    }
    EXPECT_EQ(reloads_, 0);
}

// What was acknowledged is the same for every reader; only who may change things may do it.
TEST_F(TelemetryCommands, KeepWhatWasAcknowledged) {
    const auto telemetry = attach();
    ASSERT_TRUE(telemetry);
    const auto acknowledge = [](const char* parameter) {
        return ask("/unecho/acknowledge", parameter);
    };
    const auto known = [] {
        return nlohmann::json::parse(
            answer_read_command("/unecho/acknowledged"))["/unecho/acknowledged"];
    };
    EXPECT_EQ(acknowledge("link-down,port a, b"), 0);
    EXPECT_EQ(acknowledge("no-traffic"), 0);
    EXPECT_EQ(acknowledge("link-down,port a, b"), 0) << "again: the newest counts";
    ASSERT_EQ(known().size(), 2U);
    EXPECT_EQ(known()["1"]["rule"], "link-down");
    EXPECT_EQ(known()["1"]["where"], "port a, b");
    EXPECT_GE(known()["1"]["unix_ns"], known()["0"]["unix_ns"]);
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_EQ(acknowledge(std::to_string(i).c_str()), 0);
    }
    EXPECT_EQ(known().size(), 64U);
    EXPECT_TRUE(nlohmann::json::parse(answer_read_command("/unecho/acknowledge,link-down"))
                    .begin()
                    .value()
                    .is_null());
}

TEST_F(TelemetryCommands, RefuseAPastThatTheyDoNotHave) {
    const auto telemetry = attach();
    ASSERT_TRUE(telemetry);
    const auto past = [](const std::string& parameter) {
        return nlohmann::json::parse(
            answer_read_command("/unecho/past," + parameter))["/unecho/past"];
    };
    EXPECT_EQ(past("totals,300")["uptime_ns"], 0) << "no sample yet: the start";
    EXPECT_TRUE(past("ports,300").empty());
    EXPECT_TRUE(past("ports,3600").is_object());
    for (const char* bad :
         {"ports,3601", "ports,", "ports", "stalls,300", "ports,300,0", ",", "x,y,z"}) {
        EXPECT_TRUE(past(bad).is_null()) << bad;
    }
}

// DPDK silently omits a longer string.
TEST(TelemetryHelp, FitsIntoDpdksStrings) {
    const nlohmann::ordered_json help = help_json();
    for (const auto& [member, counters] : help.items()) {
        for (const auto& [name, text] : counters.items()) {
            EXPECT_LT(text.get<std::string>().size(), RTE_TEL_MAX_STRING_LEN)
                << member << "." << name;
        }
    }
}

// DPDK keeps earlier commands for good, but plan and report are gone.
TEST_F(TelemetryCommands, OfWhichOneCannotBeRegisteredDoNotAnswer) {
    refused = "/unecho/routes";
    const auto telemetry = attach();
    ASSERT_FALSE(telemetry);
    EXPECT_EQ(telemetry.error().code, Errc::kNoMemory);
    EXPECT_NE(telemetry.error().context.find(refused), std::string::npos);
    ASSERT_GE(registered().size(), 1U);
    for (const auto& [name, callback] : registered()) {
        EXPECT_NE(ask(name), 0) << name;
    }
    EXPECT_EQ(reports_, 0);
}

}  // namespace
}  // namespace unecho::appliance
