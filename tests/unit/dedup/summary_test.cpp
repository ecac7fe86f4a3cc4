// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/results/summary.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "captures/warning_list.h"

namespace unecho::dedup {
namespace {

using capture::warning_text;
using pipeline::Reason;

Summary sample() {
    Summary summary;
    summary.inputs = {"a.pcap"};
    summary.output = "b.pcap";
    summary.reasons[static_cast<std::size_t>(Reason::kNew)] = {1'234'000, 500'000'000};
    summary.reasons[static_cast<std::size_t>(Reason::kNonIp)] = {567, 34'020};
    summary.reasons[static_cast<std::size_t>(Reason::kEcho)] = {123, 1 << 20};
    summary.wire_bytes = 700'000'000;
    summary.dropped_wire_bytes = 1'500'000;
    summary.decider.engine = "exact";
    summary.decider.text = "exact, and so on";
    summary.seconds = 2;
    return summary;
}

TEST(summary, text_says_what_was_done) {
    EXPECT_EQ(to_text(sample()),
              "1,234,690 packets, 700 MB on the wire, 501 MB captured\n"
              "kept 1,234,567, dropped 123 echoes (0.01 %): 1.50 MB on the wire, 1.05 MB "
              "captured\n"
              "of those kept, 567 non_ip (no IP packet to make a key of)\n"
              "key packet, window 50 ms; engine exact, and so on\n"
              "2.00 s, 617.345 kpps to b.pcap\n");
}

TEST(summary, no_reason_that_counted_something_is_left_out) {
    const auto usual = to_json(sample())["reasons"];
    for (const pipeline::ReasonInfo& info : pipeline::kReasonTable) {
        Summary summary = sample();
        summary.reasons.at(static_cast<std::size_t>(info.reason)).packets = 77;
        const auto reasons = to_json(summary)["reasons"];
        EXPECT_EQ(reasons.value(std::string(info.name), 0), 77) << info.name;
        EXPECT_GE(reasons.size(), usual.size());
        if (info.fate == pipeline::Disposition::kForwarded && info.reason != Reason::kNew) {
            EXPECT_NE(to_text(summary).find("77 " + std::string(info.name) + " ("),
                      std::string::npos)
                << info.name;
        }
    }
}

TEST(summary, few_packets_have_no_rate) {
    Summary summary = sample();
    summary.reasons[static_cast<std::size_t>(Reason::kNew)].packets = 9'000;
    EXPECT_NE(to_text(summary).find("\n2.00 s to b.pcap\n"), std::string::npos);
    summary = sample();
    summary.seconds = 0.04;
    EXPECT_NE(to_text(summary).find("\n0.04 s to b.pcap\n"), std::string::npos);
}

TEST(summary, says_what_packets_without_ip_were) {
    Summary summary = sample();
    summary.non_ip_types = {{"0x0806", "ARP", 5000}, {"802.3", "", 60}};
    const auto has = [&](const std::string& part) {
        return to_text(summary).find(part) != std::string::npos;
    };
    EXPECT_TRUE(has("key of)\nnon-IP: 5,000 ARP (0x0806), 60 802.3\nkey packet"));
    for (unsigned i = 0; i < 8; ++i) {
        summary.non_ip_types.push_back({"0x123" + std::to_string(i), "", 20 - i});
    }
    EXPECT_TRUE(has(", 15 0x1235; 27 of 2 other types\n")) << to_text(summary);
    const auto json = to_json(summary);
    ASSERT_EQ(json["non_ip_types"].size(), 10u);
    EXPECT_EQ(json["non_ip_types"][0]["type"], "0x0806");
    EXPECT_EQ(json["non_ip_types"][0]["name"], "ARP");
    EXPECT_EQ(json["non_ip_types"][0]["packets"], 5000);
    EXPECT_EQ(json["non_ip"], "pass");
    summary.options.non_ip = packet::NonIp::kFrame;
    EXPECT_TRUE(has("\nkey packet, non-IP frames by their own bytes, window 50 ms; engine"));
    EXPECT_EQ(to_json(summary)["non_ip"], "frame");
    summary.options = {};
    summary.options.key = packet::KeyMode::kFrame;
    EXPECT_TRUE(to_json(summary)["non_ip"].is_null());
}

TEST(summary, text_names_the_windows) {
    Summary summary = sample();
    const auto has = [&](const std::string& part) {
        return to_text(summary).find(part) != std::string::npos;
    };
    summary.options.count = 1000;
    EXPECT_TRUE(has("key packet, the last 1,000 packets; engine"));
    summary.options.window = kSecond;
    EXPECT_TRUE(has("key packet, window 1 s and the last 1,000 packets; engine"));
    summary.options.count.reset();
    summary.options.window = filter::kInfiniteWindow;
    summary.options.policy = config::Policy::kRefresh;
    EXPECT_TRUE(has("key packet, no end of the window, refreshed by echoes; engine"));
    summary.options.editcap = true;
    EXPECT_TRUE(has("key frame, exact, and so on\n"));
    summary.output.reset();
    EXPECT_TRUE(has(", dry run: nothing written\n"));
}

TEST(summary, a_window_that_was_shorter_is_said) {
    Summary summary = sample();
    summary.decider.window =
        filter::WindowState{.achieved = 50 * kMillisecond, .shortest = 50 * kMillisecond};
    EXPECT_EQ(to_text(summary), to_text(sample()));
    EXPECT_EQ(to_json(summary)["achieved_window_ns"], 50'000'000);
    EXPECT_EQ(to_json(summary)["shortest_window_ns"], 50'000'000);
    EXPECT_TRUE(to_json(summary)["shortest_window_at_ns"].is_null());
    summary.decider.window =
        filter::WindowState{20 * kMillisecond, 3 * kMillisecond, kSecond, 1'234, 0};
    EXPECT_NE(to_text(summary).find("\nwindow kept: 3 ms at the least, 1 s after the first packet; "
                                    "20 ms at the end; early turns: 1,234\n"),
              std::string::npos);
    EXPECT_EQ(to_json(summary)["achieved_window_ns"], 20'000'000);
    EXPECT_EQ(to_json(summary)["shortest_window_ns"], 3'000'000);
    EXPECT_EQ(to_json(summary)["shortest_window_at_ns"], 1'000'000'000);
    EXPECT_EQ(to_json(summary)["early_turns"], 1'234);
    EXPECT_EQ(
        window_warning(summary.options, *summary.decider.window),
        "the window was shorter than asked for, 3 ms at the least, 1 s after the first packet: "
        "echoes of that age or more may have been kept; give more --memory or a smaller "
        "--window");
    summary.options.count = 5;
    EXPECT_NE(window_warning(summary.options, *summary.decider.window).find("smaller --count"),
              std::string::npos);
}

TEST(summary, an_endless_window_has_no_length) {
    Summary summary = sample();
    summary.options.window = filter::kInfiniteWindow;
    EXPECT_TRUE(to_json(summary)["achieved_window_ns"].is_null());
    EXPECT_TRUE(to_json(summary)["shortest_window_ns"].is_null());
    summary.decider.window = filter::WindowState{.achieved = kSecond, .shortest = kSecond};
    EXPECT_EQ(to_json(summary)["achieved_window_ns"], 1'000'000'000);
}

TEST(summary, json_holds_the_same_numbers) {
    const auto json = to_json(sample());
    EXPECT_EQ(json["packets"], 1'234'690);
    EXPECT_EQ(json["kept"], 1'234'567);
    EXPECT_EQ(json["dropped"], 123);
    EXPECT_EQ(json["reasons"]["non_ip"], 567);
    EXPECT_EQ(json["window_ns"], 50'000'000);
    EXPECT_TRUE(json["count"].is_null());
    EXPECT_TRUE(json["handed_over_at"].is_null());
    EXPECT_EQ(json["policy"], "fixed");
}

TEST(summary, names_that_are_no_text_are_shown_and_written_as_text) {
    Summary summary = sample();
    summary.inputs = {"bad\xFF.pcap"};
    summary.output = "out\xFE\x1B[1m";
    summary.warnings = {warning_text({.text = "odd"}, summary.inputs), "\xFD"};
    const auto json = nlohmann::json::parse(to_json(summary).dump());
    EXPECT_EQ(json["inputs"][0], "bad\xEF\xBF\xBD.pcap");
    EXPECT_EQ(json["output"], "out\xEF\xBF\xBD\x1B[1m");
    EXPECT_EQ(json["warnings"][0], "bad\\xff.pcap: odd");
    EXPECT_EQ(json["warnings"][1], "\xEF\xBF\xBD");
    EXPECT_NE(to_text(summary).find(" to out\\xfe\\x1b[1m\n"), std::string::npos);
}

TEST(summary, warnings_name_file_and_packet) {
    EXPECT_EQ(warning_text({.file = 1, .number = 5, .times = 1'000, .text = "odd"}, {"a", "b"}),
              "b: packet 5: odd (1,000 times)");
    EXPECT_EQ(warning_text({.text = "odd"}, {"a"}), "a: odd");
}

}  // namespace
}  // namespace unecho::dedup
