// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>

#include <gtest/gtest.h>

#include "support/every_engine.h"
#include "unit/control/plans.h"

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
    EXPECT_EQ(line_of(text, "workers (control"), "workers (control thread: lcore 0 on CPU 0)");
    EXPECT_NE(line_of(text, "filter echo"), "");
    EXPECT_NE(line_of(text, "engine line (M="), "");
    EXPECT_EQ(text.find(" \n"), std::string::npos) << "blanks at the end of a line";
}

TEST(PlanText, says_what_the_audit_takes) {
    config::Config config = taps_to_tool();
    config.workers.lcores = {1, 2};
    config.audit.memory = 1 << 20;
    const auto planned = [&] {
        return plan_of(config, machine_with({0, 1, 2}), all_of(config, device("net_null")));
    };
    const AuditPlan audit = planned().audits.at(0);
    EXPECT_LE(audit.instance_bytes, config.audit.memory);
    EXPECT_GT(audit.instance_bytes, config.audit.memory / 10 * 9);
    EXPECT_EQ(line_of(to_text(planned()), "audit "),
              "audit " + format_size(audit.instance_bytes) + " a worker, " +
                  format_size(2 * audit.instance_bytes) + " in all: of one key in 512 at first, " +
                  format_count(audit.entries) + " at a time");
    config.audit.enabled = false;
    EXPECT_EQ(line_of(to_text(planned()), "audit "), "");
}

TEST(PlanText, says_what_a_filter_costs_and_forgets) {
    config::Config config = taps_to_tool();
    config.filters[0].key = packet::KeyMode::kFlow;
    config.filters[0].first = 3;
    config.filters[0].policy = config::Policy::kRefresh;
    const Plan plan = plan_of(config, machine_with({0}), all_of(config, device("net_null")));
    const std::string text = to_text(plan);
    EXPECT_EQ(line_of(text, "key "), "key flow, first 3 of each pass");
    EXPECT_EQ(line_of(text, "window "), "window 50ms, refresh");
    EXPECT_NE(line_of(text, "slack ").find(format_duration(plan.filters[0].prediction.slack)),
              std::string::npos);
    EXPECT_EQ(line_of(text, "planned rate "),
              "planned rate 1Mpps a worker, of which each packet may renew 3 keys");
    EXPECT_NE(line_of(text, "memory ").find(format_size(plan.filters[0].instance_bytes)),
              std::string::npos);
    EXPECT_NE(line_of(text, std::to_string(plan.mbufs) + " of " + std::to_string(plan.data_room)),
              "");
}

TEST(PlanText, names_generations_and_ticks_each_by_its_name) {
    config::Config config = taps_to_tool();
    config.filters[0].engine = config::Engine::kLine;
    config.filters[0].rate = 10e6;
    const auto plan = [&] {
        return plan_of(config, machine_with({0}), all_of(config, device("net_null")));
    };
    const Plan phased = plan();
    const auto& line = std::get<sizing::LineGeometry>(phased.filters[0].geometry);
    ASSERT_GT(line.phases, 1U);
    const Nanoseconds tick = phased.filters[0].clock.length;
    const Nanoseconds generation = tick * line.phases;
    EXPECT_GE(generation * line.l, phased.filters[0].window);
    const auto keys = static_cast<std::uint64_t>(std::ceil(static_cast<double>(generation) / 100));
    EXPECT_EQ(
        line_of(to_text(phased), "generations "),
        "generations " + format_duration(generation) + " each, " + std::to_string(keys) + " keys");
    EXPECT_EQ(line_of(to_text(phased), "ticks "), "ticks " + format_duration(tick) + " each, " +
                                                      std::to_string(line.phases) +
                                                      " to a generation");

    config.filters[0].engine = config::Engine::kApbbf;
    const Plan whole = plan();
    const sizing::Prediction& p = whole.filters[0].prediction;
    EXPECT_EQ(line_of(to_text(whole), "generations "),
              "generations " + format_duration(p.generation) + " each, " +
                  std::to_string(p.generation_keys) + " keys");
    EXPECT_EQ(line_of(to_text(whole), "ticks "), "") << "it has no phases";
}

TEST(PlanText, names_the_kernel_of_each_engine_that_has_kernels) {
    std::size_t with = 0;
    for (const config::Engine engine : test::every_engine()) {
        config::Config config = taps_to_tool();
        config.filters[0].engine = engine;
        if (engines::info_of(engine).counts_packets) {
            config.filters[0].key = packet::KeyMode::kFlow;
            config.filters[0].first = 2;
        }
        const Plan plan = plan_of(config, machine_with({0}), all_of(config, device("net_null")));
        const bool has = engines::info_of(engine).has_kernels;
        EXPECT_EQ(
            line_of(to_text(plan), "kernel "),
            has ? "kernel " + std::string(filter::name_of(plan.isa)) + " (" + plan.isa_reason + ")"
                : "")
            << test::name_of(engine);
        with += has ? 1 : 0;
    }
    EXPECT_GE(with, 3U) << "line, fingerprint, apbbf";
}

TEST(PlanText, of_an_exact_filter_speaks_of_no_slack) {
    config::Config config = taps_to_tool();
    config.filters[0].engine = config::Engine::kExact;
    const std::string text =
        to_text(plan_of(config, machine_with({0}), all_of(config, device("net_null"))));
    EXPECT_EQ(line_of(text, "slack "), "slack none");
    EXPECT_NE(line_of(text, "engine exact (").find(" entries)"), std::string::npos);
    EXPECT_EQ(line_of(text, "generations"), "") << "it has none";
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

TEST(PlanText, says_what_reports_of_taps_cost) {
    config::Config config = taps_to_tool();
    const auto line = [&] {
        return line_of(
            to_text(plan_of(config, machine_with({0, 1, 2}), all_of(config, device("net_null")))),
            "route 0 reports");
    };
    EXPECT_EQ(line(), "");
    config.workers.lcores = {1, 2};
    config.routes[0].report_taps = true;
    config.routes[0].report_flows = 2000;
    const Plan plan = plan_of(config, machine_with({0, 1, 2}), all_of(config, device("net_null")));
    const std::uint64_t bytes = plan.routes[0].taps->instance_bytes;
    EXPECT_EQ(line(),
              "route 0 reports the flows of each window of 50ms that only tap-a saw, only tap-b "
              "saw, and both: planned for 2000, " +
                  format_size(bytes) + " a worker, " + format_size(2 * bytes) + " in all");
}

TEST(PlanText, ends_with_the_notes) {
    config::Config config = taps_to_tool();
    config.filters[0].window = kMillisecond;
    const std::string text =
        to_text(plan_of(config, machine_with({0}), all_of(config, device("net_null"))));
    EXPECT_NE(line_of(text, "note: filter \"echo\""), "");
}

}  // namespace
}  // namespace unecho::appliance
