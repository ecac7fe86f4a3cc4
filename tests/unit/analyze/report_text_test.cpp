// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "analyze/text.h"
#include "sample_report.h"

namespace unecho::analyze {
namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(ReportText, every_section_of_a_full_report_is_there) {
    const std::string text = to_text(sample_report());
    for (const char* part :
         {"echoes", "Ages", "Why they differ", "look alike", "Where", "first at", "Protocols",
          "Whose packets", "Over time", "by window", "<- recommended", "What each key drops",
          "What to configure", "--toml"}) {
        EXPECT_TRUE(has(text, part)) << part;
    }
}

TEST(ReportText, sections_with_nothing_to_say_are_left_out) {
    const std::string none = to_text(no_echo_report());
    EXPECT_FALSE(has(none, "Ages"));
    EXPECT_FALSE(has(none, "Whose packets"));
    EXPECT_TRUE(has(none, "What to configure"));
    const std::string empty = to_text(empty_report());
    EXPECT_TRUE(has(empty, "There are no packets in"));
    EXPECT_FALSE(has(empty, "What to configure"));
}

TEST(ReportText, names_cannot_speak_to_the_terminal) {
    const std::string text = to_text(hostile_report());
    for (const char c : text) {
        ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << text;
    }
}

TEST(ReportText, long_names_are_shortened_in_tables) {
    Report report = sample_report();
    ASSERT_GE(report.interfaces.size(), 2U);
    report.interfaces[0].name = "begin" + std::string(5000, 'x') + "end";
    const std::string text = to_text(report);
    EXPECT_FALSE(has(text, std::string(41, 'x')));
    EXPECT_TRUE(has(text, "beginxxxxxxx..."));
    EXPECT_TRUE(has(text, "xxxend  "));
    EXPECT_FALSE(has(text, std::string(300, ' ')));
}

TEST(ReportText, interfaces_with_echoes_come_first_and_empty_ones_are_left_out) {
    Report report = sample_report();
    report.interfaces.clear();
    for (unsigned i = 0; i < 40; ++i) {
        InterfaceInfo one;
        one.name = "port" + std::to_string(i) + ".";
        one.total = {i % 2 == 0 ? 100U : 0U, 6000};
        one.echoes = {i >= 30 && i % 2 == 0 ? i : 0U, 60};
        report.interfaces.push_back(one);
    }
    const std::string text = to_text(report);
    EXPECT_LT(text.find("port38."), text.find("port36."));
    EXPECT_LT(text.find("port30."), text.find("port2."));
    EXPECT_FALSE(has(text, "port39."));
    EXPECT_TRUE(has(text, "and 10 more interfaces"));  // 20 have packets, 10 are shown
    EXPECT_TRUE(has(text, "20 interfaces without packets left out"));
}

TEST(ReportText, what_was_sent_again_is_told_with_its_rhythm) {
    const std::string text = to_text(sample_report());
    EXPECT_TRUE(has(text, "41 were sent again"));
    EXPECT_TRUE(has(text, "IPv4 VRRP"));
    EXPECT_TRUE(has(text, "every 1s, about"));
    EXPECT_TRUE(has(text, "1s to 1 min 30 s"));
}

TEST(ReportText, bytes_are_said_to_be_those_on_the_wire) {
    EXPECT_TRUE(has(to_text(sample_report()), " on the wire ("));
    EXPECT_TRUE(has(to_text(sample_report()), "their bytes on the wire"));
}

TEST(ReportText, one_is_singular) {
    const std::string text = to_text(single_packet_report());
    EXPECT_TRUE(has(text, ": 1 packet, ")) << text;
    EXPECT_FALSE(has(text, " 1 packets")) << text;
    EXPECT_FALSE(has(text, " 1 echoes")) << text;
}

TEST(ReportText, one_packet_and_one_moment_are_no_trouble) {
    EXPECT_FALSE(to_text(single_packet_report()).empty());
    EXPECT_FALSE(to_text(same_time_report()).empty());
}

}  // namespace
}  // namespace unecho::analyze
