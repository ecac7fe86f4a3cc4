// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/report_text.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "captures/analyze/tally/age_histogram.h"
#include "sample_report.h"

namespace unecho::analyze {
namespace {

bool shows(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(ReportText, every_section_of_a_full_report_is_there) {
    const std::string text = to_text(sample_report());
    for (const char* part :
         {"echoes", "Ages", "How copies differ", "look alike", "Where", "first at", "Protocols",
          "Whose packets", "Over time", "by window", "<- recommended", "What each key drops",
          "What to configure", "--toml"}) {
        EXPECT_TRUE(shows(text, part)) << part;
    }
}

TEST(ReportText, sections_with_nothing_to_say_are_left_out) {
    const std::string none = to_text(no_echo_report());
    EXPECT_FALSE(shows(none, "Ages"));
    EXPECT_FALSE(shows(none, "Whose packets"));
    EXPECT_TRUE(shows(none, "What to configure"));
    const std::string empty = to_text(empty_report());
    EXPECT_TRUE(shows(empty, "There are no packets in"));
    EXPECT_FALSE(shows(empty, "What to configure"));
}

TEST(ReportText, what_was_sent_again_is_told_with_its_rhythm) {
    const std::string text = to_text(sample_report());
    EXPECT_TRUE(shows(text, "41 were sent again"));
    EXPECT_TRUE(shows(text, "IPv4 VRRP"));
    EXPECT_TRUE(shows(text, "every 1s, about"));
    EXPECT_TRUE(shows(text, "1s to 1 min 30 s"));
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
    EXPECT_FALSE(shows(text, std::string(41, 'x')));
    EXPECT_TRUE(shows(text, "beginxxxxxxx..."));
    EXPECT_TRUE(shows(text, "xxxend  "));
    EXPECT_FALSE(shows(text, std::string(300, ' ')));
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
    EXPECT_FALSE(shows(text, "port39."));
    EXPECT_TRUE(shows(text, "and 10 more interfaces"));  // 20 have packets, 10 are shown
    EXPECT_TRUE(shows(text, "20 interfaces without packets left out"));
}

// The last interface stands for all those beyond the limit.
TEST(ReportText, interfaces_that_the_last_stands_for_are_counted) {
    Report report = sample_report();
    report.interfaces.assign(256, report.interfaces[0]);
    report.interfaces.back().name = "all others";
    report.interfaces.back().copied = {1, 60};
    report.other_interfaces = 1244;
    EXPECT_TRUE(shows(to_text(report), "and 1,490 more interfaces"));
    report.interfaces.back().copied = {report.total.packets, 60};  // shown, in first place
    EXPECT_TRUE(shows(to_text(report), "and 246 more interfaces"));
}

std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string section_of(const std::string& text, const std::string& title) {
    const std::string rest = text.substr(text.find("\n" + title));
    return rest.substr(0, rest.find("\n\n"));
}

// Ages within 2 us, and one of 100 ms.
TEST(ReportText, gaps_between_ages_are_one_line) {
    Report report = sample_report();
    AgeHistogram ages;
    for (Nanoseconds age = 1000; age < 2000; ++age) {
        ages.add(age, Cause::kRouted);
    }
    ages.add(100 * kMillisecond, Cause::kRouted);
    report.ages = ages.ages();
    const std::string part = section_of(to_text(report), "Ages");
    EXPECT_EQ(lines_of(part), 8U) << part;  // title, names, three rows, gap, one row, sentence
    EXPECT_TRUE(shows(part, "  2us   100ms       0  ...\n")) << part;
}

TEST(ReportText, ages_over_many_powers_of_ten_fit_on_a_screen) {
    Report report = sample_report();
    AgeHistogram ages;
    for (Nanoseconds age = 1; age < 1000 * kSecond; age += 1 + age / 20) {
        ages.add(age, Cause::kRouted);
    }
    report.ages = ages.ages();
    const std::string part = section_of(to_text(report), "Ages");
    EXPECT_LE(lines_of(part), 27U) << part;
    EXPECT_GE(lines_of(part), 12U) << part;
    EXPECT_TRUE(shows(part, "        10us       31.6us ")) << part;
}

TEST(ReportText, many_inputs_are_one_line) {
    Report report = sample_report();
    report.files.clear();
    for (unsigned i = 0; i < 1500; ++i) {
        FileInfo file;
        file.path = "ring-" + std::to_string(10000 + i) + ".pcap";
        report.files.push_back(file);
        report.warnings.push_back({file.path, 7, 1, "the file ends within a packet"});
    }
    const std::string text = to_text(report);
    EXPECT_EQ(text.find("1,500 inputs, ring-10000.pcap to ring-11499.pcap: 91,500 packets, "
                        "58.6 MB on the wire, 58.6 MB captured\n"),
              0U)
        << text.substr(0, 200);
    EXPECT_TRUE(shows(text, "the file ends within a packet; 1,500 other inputs too (1,501 times)"));
    EXPECT_LT(lines_of(text), 190U);
}

TEST(ReportText, tables_of_copies_leave_out_what_was_sent_again) {
    Report report = sample_report();
    report.echoes.packets += 50;
    report.causes[static_cast<std::size_t>(Cause::kPadded)].echoes.packets = 50;
    report.windows.back().fixed.packets += 50;
    report.windows.back().refresh.packets += 50;
    const std::string text = to_text(report);
    EXPECT_FALSE(shows(text, "padded"));
    EXPECT_TRUE(shows(text, "# copies, + what was sent again"));
    EXPECT_TRUE(shows(section_of(text, "Over time"), "and 50 sent again"));
    EXPECT_TRUE(shows(section_of(text, "Whose packets"), "and 50 sent again"));
    EXPECT_FALSE(shows(to_text(sample_report()), "and 50 sent again"));
}

TEST(ReportText, windows_count_frames_without_ip_where_they_are_to_be_compared) {
    Report report = sample_report();
    report.basis.frame_windows = report.windows;
    for (WindowRow& row : report.basis.frame_windows) {
        row.fixed = row.refresh = row.fixed_copied = row.refresh_copied = {1'000'000, 64};
    }
    EXPECT_FALSE(shows(section_of(to_text(report), "What key"), "1,000,000"));
    report.recommendation.non_ip = packet::NonIp::kFrame;
    const std::string text = to_text(report);
    EXPECT_TRUE(shows(text, "What key \"packet\" with non_ip \"frame\" drops, by window"));
    EXPECT_TRUE(shows(section_of(text, "What key"), "1,000,000")) << text;
}

TEST(ReportText, one_is_singular) {
    const std::string text = to_text(single_packet_report());
    EXPECT_TRUE(shows(text, ": 1 packet, ")) << text;
    EXPECT_FALSE(shows(text, " 1 packets")) << text;
    EXPECT_FALSE(shows(text, " 1 echoes")) << text;
}

// Return the rows of the text on a terminal of 80 columns, which breaks longer lines.
std::size_t rows_on_a_screen(const std::string& text) {
    std::size_t rows = 0;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
        rows += std::max<std::size_t>(1, (end - begin + 79) / 80);
    }
    return rows;
}

TEST(Answer, leaves_out_notes_for_which_there_is_no_room) {
    Report report = sample_report();
    for (int i = 0; i < 4; ++i) {
        report.warnings.push_back({"a.pcap", 7, 1, std::string(400, static_cast<char>('a' + i))});
    }
    const std::string text = to_summary_text(report);
    EXPECT_LE(rows_on_a_screen(text), 24U) << text;
    EXPECT_TRUE(shows(text, "more notes\n")) << text;
}

TEST(Answer, fits_a_screen_and_ends_with_what_to_run) {
    for (const Report& report : {sample_report(), hostile_report()}) {
        const std::string text = to_summary_text(report);
        EXPECT_LE(rows_on_a_screen(text), 24U) << text;
        EXPECT_NE(text.find("More:  "), std::string::npos);
        EXPECT_EQ(text.find("Remove them:") != std::string::npos, report.recommendation.needed);
    }
}

TEST(Answer, command_is_one_that_a_shell_takes) {
    Report report = sample_report();
    report.files.resize(2);
    report.files[0].path = "it's here.pcap";
    report.files[1].path = "-a=b.pcap";
    report.recommendation.pcap_options = "--window 1ms";
    EXPECT_EQ(remove_command(report),
              "unecho pcap 'it'\\''s here.pcap' ./-a=b.pcap -o clean.pcap --window 1ms");
}

}  // namespace
}  // namespace unecho::analyze
