// SPDX-License-Identifier: BSD-3-Clause
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "captures/analyze/report/report_text.h"
#include "captures/analyze/report/report_view.h"
#include "captures/view/html/text.h"
#include "sample_report.h"
#include "support/source_root.h"

namespace unecho::analyze {
namespace {

bool has(const std::string& page, std::string_view text) {
    return page.find(text) != std::string::npos;
}

std::size_t times(const std::string& page, std::string_view text) {
    std::size_t count = 0;
    for (std::size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) {
        ++count;
    }
    return count;
}

TEST(Html, each_section_and_figure_of_the_view_is_there) {
    const Report report = sample_report();
    const std::string page = to_html(report);
    std::size_t before = 0;
    for (const Section& each : make_view(report).sections) {
        const std::size_t at = page.find("<section id=\"" + each.id + '"');
        ASSERT_NE(at, std::string::npos) << each.id;
        EXPECT_GT(at, before) << each.id;
        before = at;
        for (const Block& block : each.blocks) {
            const auto* table = std::get_if<Table>(&block);
            for (const Row& row : table == nullptr ? std::vector<Row>() : table->rows) {
                for (const Cell& cell : row.cells) {
                    EXPECT_TRUE(has(page.substr(at), view::escape(cell.text))) << cell.text;
                    EXPECT_TRUE(cell.name.empty() ||
                                has(page.substr(at), "<data data-is=\"" + cell.name +
                                                         "\" value=\"" +
                                                         std::to_string(cell.value) + "\">"))
                        << cell.name;
                }
            }
        }
    }
}

TEST(Html, hostile_names_add_no_markup) {
    const std::string page = to_html(hostile_report());
    EXPECT_FALSE(has(page, "<script>alert"));
    EXPECT_TRUE(has(page, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"));
    for (const char* tag :
         {"<script", "</script>", "<style", "</style>", "</title></style>", "<!--"}) {
        EXPECT_EQ(times(page, tag), times(to_html(sample_report()), tag)) << tag;
    }
    EXPECT_FALSE(has(page, "\xff"));
    EXPECT_FALSE(has(page, "\x01"));
}

TEST(Html, dash_is_called_standard_input) {
    Report report = sample_report();
    report.files.resize(1);
    report.files[0].path = "-";
    report.warnings = {{"-", 3, 1, "cut"}};
    const std::string page = to_html(report);
    EXPECT_TRUE(has(page, "<title>Echoes in standard input</title>"));
    EXPECT_TRUE(has(page, "<div class=\"source\">standard input</div>"));
    EXPECT_TRUE(has(page, "standard input: packet 3: cut"));
}

TEST(Html, page_names_no_other_place) {
    const std::string page = to_html(sample_report());
    for (const char* text : {"http:", "https:", " src=", "@import", "url(", "//"}) {
        EXPECT_FALSE(has(page, text)) << text;
    }
}

TEST(Html, what_was_asked_stands_beside_what_is_recommended) {
    Report report = sample_report();
    const std::string page = to_html(report);
    EXPECT_TRUE(has(page, "data-is=\"what_if.asked.sent_again.packets\" value=\"31\""));
    EXPECT_TRUE(has(page, "data-is=\"what_if.recommended.sent_again.packets\" value=\"0\""));
    EXPECT_TRUE(has(page, " were forgotten inside the window"));
    EXPECT_TRUE(has(page, "It leaves 200 copied packets in."));
    report.what_if.reset();
    EXPECT_FALSE(has(to_html(report), "<section id=\"what-if\""));
}

TEST(Html, empty_capture_says_so_and_draws_nothing) {
    const std::string page = to_html(empty_report());
    EXPECT_TRUE(has(page, "There are no packets in it."));
    EXPECT_FALSE(has(page, "<svg"));
    EXPECT_FALSE(has(page, "nan"));
}

TEST(Html, single_packet_has_no_charts) {
    const std::string page = to_html(single_packet_report());
    EXPECT_TRUE(has(page, "A single packet, so no copies."));
    EXPECT_FALSE(has(page, "<svg"));
    EXPECT_FALSE(has(page, "nan%"));
}

TEST(Html, no_echoes_leave_out_what_is_about_echoes) {
    const std::string page = to_html(no_echo_report());
    EXPECT_TRUE(has(page, "<h1>No copies.</h1>"));
    for (const char* id : {"ages", "windows", "causes", "talkers", "warnings"}) {
        EXPECT_FALSE(has(page, "<section id=\"" + std::string(id) + '"')) << id;
    }
    EXPECT_TRUE(has(page, "<section id=\"time\""));
}

TEST(Html, echoes_without_age_are_drawn) {
    const std::string page = to_html(same_time_report());
    EXPECT_EQ(times(page, "data-low=\"0\" data-echoes=\"3\""), 1U);
    EXPECT_TRUE(has(page, "captured at the same time"));
    EXPECT_FALSE(has(page, "<section id=\"time\""));
}

TEST(Html, column_of_the_youngest_has_a_width) {
    const std::string page = to_html(same_time_report());
    const std::size_t end = page.find("data-low=\"0\"");
    const std::size_t width = page.rfind("width=\"", end) + 7;
    EXPECT_GT(std::stod(page.substr(width)), 5);
    EXPECT_TRUE(has(page, ">0</text>"));
}

// Checks the positions of their column and of the window's line, as shares of the chart's width.
TEST(Html, ages_of_0_are_left_of_the_window_and_inside) {
    for (const Nanoseconds others : {10 * kMicrosecond, 100 * kMillisecond}) {
        Report report = sample_report();
        report.ages.bins = {{0, 1, 7, {}}, {others, others + others / 4, 3, {}}};
        report.recommendation.window = kMillisecond;
        const std::string page = to_html(report);
        const std::string chart = page.substr(page.find("<section id=\"ages\""));
        const std::size_t end = chart.find("data-low=\"0\"");
        const std::string column = chart.substr(chart.rfind("<rect", end), 100);
        EXPECT_TRUE(has(column, "class=\"in\""));
        const auto number = [](const std::string& text, const std::string& name) {
            const std::size_t at = text.find(' ' + name + "=\"");
            return std::stod(text.substr(at + name.size() + 3));
        };
        const std::string line = chart.substr(chart.find("class=\"mark\""), 60);
        EXPECT_LT(number(column, "x") + number(column, "width"), number(line, "x1")) << others;
        EXPECT_TRUE(has(chart, "<title>0: 7 copies</title>"));
    }
}

TEST(Html, nothing_is_outside_of_a_window_that_is_not_needed) {
    Report report = sample_report();
    report.recommendation.needed = false;
    EXPECT_FALSE(has(to_html(report), "class=\"out\""));
}

TEST(Html, tables_of_copies_leave_out_what_was_sent_again) {
    Report report = sample_report();
    const std::uint64_t copies = report.echoes.packets;
    report.echoes.packets += 50;
    report.causes[static_cast<std::size_t>(Cause::kPadded)].echoes.packets = 50;
    for (WindowRow& row : report.windows) {
        row.fixed.packets += 50;
    }
    const std::string page = to_html(report);
    EXPECT_FALSE(has(page, ">padded<"));
    EXPECT_TRUE(has(page, "class=\"again\""));
    EXPECT_TRUE(has(page, "what was sent again, on top"));
    EXPECT_TRUE(has(page, ".fixed_copied.packets\""));
    EXPECT_TRUE(has(page, "and 50 sent again"));
    EXPECT_EQ(copies, report.copied.packets);
    EXPECT_FALSE(has(to_html(sample_report()), "class=\"again\""));
}

TEST(Html, few_packets_have_no_rate) {
    Report report = sample_report();
    EXPECT_TRUE(has(to_html(report), "On average"));
    EXPECT_TRUE(has(to_html(report), "Packets per second: "));
    Report slow = report;
    slow.duration = (slow.total.packets + 1) * kSecond;
    EXPECT_FALSE(has(to_html(slow), "On average"));
    report.total.packets = 99;
    EXPECT_FALSE(has(to_html(report), "On average"));
    EXPECT_FALSE(has(to_html(report), "Packets per second: "));
    EXPECT_TRUE(has(to_html(report), "<figcaption>Packets: "));
}

TEST(Html, policies_are_told_apart_where_they_differ) {
    Report report = sample_report();
    const std::string differ = to_html(report);
    EXPECT_TRUE(has(differ, "class=\"second\""));
    EXPECT_TRUE(has(differ, ">refresh</text>"));
    for (WindowRow& row : report.windows) {
        row.refresh_copied = {row.fixed.packets + 20, row.fixed.bytes};
    }
    const std::string nearly = to_html(report);
    EXPECT_FALSE(has(nearly, "class=\"second\""));
    EXPECT_TRUE(has(nearly, "refresh drops nearly the same"));
    for (WindowRow& row : report.windows) {
        row.refresh_copied = row.fixed_copied;
    }
    EXPECT_TRUE(has(to_html(report), "policies fixed and refresh alike"));
}

TEST(Html, crossings_beyond_the_interfaces_are_left_out) {
    Report report = sample_report();
    report.crossings.push_back({7, 9, {1, 60}});
    EXPECT_TRUE(has(to_html(report), "class=\"matrix\""));
}

// ---- the page of `unecho serve` has the same causes and colours ----

std::string monitor_page(const std::string& name) {
    std::ifstream file(test::source_root() + "/lib/monitor/page/" + name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// Return all matches of a pattern, with their two groups joined by ": ".
std::vector<std::string> matches(const std::string& text, const char* pattern) {
    std::vector<std::string> out;
    const std::regex regex(pattern);
    for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
        out.push_back((*at)[1].str() + ": " + (*at)[2].str());
    }
    return out;
}

TEST(MonitorPage, has_all_colours_of_the_report) {
    constexpr const char* kColour = "(--[a-z-]+): (#[0-9a-f]+|\\d+ \\d+ \\d+)";
    const std::vector<std::string> own = matches(monitor_page("style.css"), kColour);
    const std::vector<std::string> report = matches(to_html(sample_report()), kColour);
    const std::set<std::string> known(own.begin(), own.end());
    EXPECT_GT(std::set<std::string>(report.begin(), report.end()).size(), 15U);
    for (const std::string& colour : report) {
        EXPECT_TRUE(known.contains(colour)) << colour;
    }
}

TEST(MonitorPage, has_all_causes_of_the_report_and_one_of_its_own) {
    std::vector<std::string> wanted;
    for (const CauseInfo& cause : kCauseTable) {
        wanted.push_back(std::string(cause.name));
    }
    wanted.emplace_back("alike");  // a cause of the audit only
    std::vector<std::string> names;
    for (const std::string& row :
         matches(monitor_page("echoes.js"), "\n  \"?([\\w-]+)\"?: (\\[)\"[^\"]+\",")) {
        names.push_back(row.substr(0, row.find(':')));
    }
    EXPECT_EQ(names, wanted);
}

}  // namespace
}  // namespace unecho::analyze
