// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/report_text.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "captures/analyze/report/report_view.h"
#include "captures/analyze/tally/age_histogram.h"
#include "sample_report.h"

namespace unecho::analyze {
namespace {

bool shows(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(ReportText, each_section_and_figure_of_the_view_is_there) {
    const std::string text = to_text(sample_report());
    std::size_t before = 0;
    for (const Section& each : make_view(sample_report()).sections) {
        const std::size_t at = text.find("\n\n" + each.title + "\n");
        ASSERT_NE(at, std::string::npos) << each.title;
        EXPECT_GT(at, before) << each.title;
        before = at;
        for (const Block& block : each.blocks) {
            const auto* table = std::get_if<Table>(&block);
            for (const Row& row : table == nullptr ? std::vector<Row>() : table->rows) {
                for (const Cell& cell : row.cells) {
                    EXPECT_TRUE(shows(text.substr(at), cell.text)) << cell.text;
                }
            }
        }
    }
    EXPECT_TRUE(shows(text, "# <- recommended\n"));
    EXPECT_TRUE(shows(text, "--toml FILE writes this"));
    EXPECT_FALSE(shows(text, " \n"));
}

TEST(ReportText, what_was_sent_again_is_told_with_its_rhythm) {
    const std::string text = to_text(sample_report());
    EXPECT_TRUE(shows(text, "41 packets were sent again"));
    EXPECT_TRUE(shows(text, "IPv4 VRRP"));
    EXPECT_TRUE(shows(text, "every 1 s, about"));
    EXPECT_TRUE(shows(text, "1 s to 1 min 30 s"));
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

TEST(ReportText, gaps_are_dots_and_repeats_are_marked) {
    Report report = sample_report();
    AgeHistogram ages;
    ages.add(1000, Cause::kRouted);
    ages.add(100 * kMillisecond, Cause::kRouted);
    report.ages = ages.ages();
    report.windows.back().fixed.packets += 500;
    const std::string text = to_text(report);
    EXPECT_TRUE(shows(text, "    0  ...\n")) << text;
    EXPECT_TRUE(shows(text, "#+\n")) << text;
    EXPECT_TRUE(shows(text, "# copies, + what was sent again"));
    EXPECT_FALSE(shows(to_text(sample_report()), "+ what was sent again"));
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
