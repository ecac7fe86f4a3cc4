// SPDX-License-Identifier: BSD-3-Clause

#include <gtest/gtest.h>

#include "support/every_engine.h"
#include "unit/appliance/plans.h"

namespace unecho::appliance {
namespace {

// Return the line that begins with `start`, with single spaces; empty if there is none.
std::string line_of(const std::string& text, const std::string& start) {
    std::string squeezed;
    for (const char c : text) {
        if (c != ' ' || (!squeezed.empty() && squeezed.back() != ' ' && squeezed.back() != '\n')) {
            squeezed += c;
        }
    }
    const std::size_t at = ("\n" + squeezed).find("\n" + start);
    return at == std::string::npos ? "" : squeezed.substr(at, squeezed.find('\n', at) - at);
}

TEST(PlanText, names_every_port_worker_route_and_filter) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 2, 3};
    config.ports[0].device = "net_pcap0,rx_pcap=a.pcap";
    config.ports.push_back(config.ports[2]);
    config.ports[3].name = "echoes";
    config.routes[0].on_echo = config::EchoAction::kDivert;
    config.routes[0].divert_to = 3;
    Facts facts = all_of(config, device("net_null", 1, 4));
    facts[1].probed = true;
    const std::string text = to_text(plan_of(config, machine_with({0, 1, 2, 3}), facts));

    EXPECT_EQ(line_of(text, "tap-a net"),
              "tap-a net_pcap0,rx_pcap=a.pcap 1 1 1500 its driver's name");
    EXPECT_EQ(line_of(text, "tap-b net"), "tap-b net_null1 1 1 1500 the device");
    EXPECT_EQ(line_of(text, "tool net"), "tool net_null2 1 3 1500 its driver's name");
    EXPECT_EQ(line_of(text, "0 1 tap-a"), "0 1 tap-a queue 0 route 0: -> tool echo");
    EXPECT_EQ(line_of(text, "1 2 tap-b"), "1 2 tap-b queue 0 route 0: -> tool echo");
    EXPECT_EQ(line_of(text, "2 3 rings"), "2 3 rings from other workers all routes");
    EXPECT_EQ(line_of(text, "0 tap-a, tap-b"), "0 tap-a, tap-b tool echo sent to echoes");
    EXPECT_EQ(line_of(text, "steering: ring").substr(0, 16), "steering: ring (");
    EXPECT_EQ(line_of(text, "workers (control"), "workers (control thread: CPU 0)");
    EXPECT_NE(line_of(text, "filter echo"), "");
    EXPECT_NE(line_of(text, "engine line (M="), "");
    EXPECT_EQ(text.find(" \n"), std::string::npos) << "blanks at the end of a line";
}

// DPDK has another number for it, which is no CPU.
TEST(PlanText, names_the_cpu_of_the_control_thread_alone) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 0};
    const std::string text =
        to_text(plan_of(config, machine_with({0, 1}), all_of(config, device("net_null"))));
    EXPECT_EQ(line_of(text, "workers (control"),
              "workers (control thread: CPU 0, shared with worker 1)");
    EXPECT_EQ(text.find("127"), std::string::npos);
}

TEST(PlanText, says_what_becomes_of_echoes) {
    config::Config config = taps_to_tool();
    const auto route = [&] {
        return line_of(
            to_text(plan_of(config, machine_with({0}), all_of(config, device("net_null")))),
            "0 tap-a, tap-b");
    };
    EXPECT_EQ(route(), "0 tap-a, tap-b tool echo dropped");
    config.routes[0].on_echo = config::EchoAction::kPass;
    EXPECT_EQ(route(), "0 tap-a, tap-b tool echo forwarded, counted (dry run)");
}

TEST(PlanText, ends_with_the_notes) {
    config::Config config = taps_to_tool();
    config.filters[0].window = kMillisecond;
    const std::string text =
        to_text(plan_of(config, machine_with({0}), all_of(config, device("net_null"))));
    EXPECT_NE(line_of(text, "note: filter \"echo\""), "");
}

TEST(PlanText, says_between_which_points_paths_are_measured) {
    config::Config config = taps_to_tool();
    const auto line = [&] {
        return line_of(
            to_text(plan_of(config, machine_with({0}), all_of(config, device("net_null", 1, 4)))),
            "paths ");
    };
    EXPECT_EQ(line().find("paths between tap-a, tap-b; "), 0U) << line();
    config.routes[0].path = {1, 0};
    config.routes[0].max_path_loss = 0.01;
    config.routes[0].max_path_delay = 5 * kMillisecond;
    EXPECT_EQ(line().find("paths along tap-b > tap-a; "), 0U) << line();
    EXPECT_NE(line().find("; loss up to 1.00 % is no problem; delays up to 5 ms are none"),
              std::string::npos)
        << line();
    config.audit.enabled = false;
    EXPECT_EQ(line(), "");
}

}  // namespace
}  // namespace unecho::appliance
