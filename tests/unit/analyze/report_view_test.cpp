// SPDX-License-Identifier: BSD-3-Clause
// What text and page say. The formats' own tests cover how they write it.
#include "captures/analyze/report/report_view.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "captures/analyze/report/report_json.h"
#include "captures/analyze/report/report_text.h"
#include "captures/analyze/tally/age_histogram.h"
#include "sample_report.h"

namespace unecho::analyze {
namespace {

struct Words {
    std::string text;
    std::vector<Cell> cells;

    void say(const std::string& more) { text += more + "\n"; }
    void operator()(const Paragraph& it) { say(it.text); }
    void operator()(const Code& it) { say(it.title + ": " + it.text); }
    void operator()(const Facts& it) {
        for (const Fact& each : it.facts) {
            say(each.name + ": " + each.value.text + "; " + each.detail);
            cells.push_back(each.value);
        }
    }
    void operator()(const Table& it) {
        say(it.title);
        for (const Row& row : it.rows) {
            for (const Cell& cell : row.cells) {
                text += cell.text + " | ";
                cells.push_back(cell);
            }
            say(row.note);
        }
        say(it.rest);
    }
    void operator()(const List& it) {
        for (const std::string& item : it.items) {
            say(item);
        }
        say(it.rest);
    }
};

Words words_of(const std::vector<Block>& blocks) {
    Words out;
    for (const Block& block : blocks) {
        std::visit(out, block);
    }
    return out;
}

// Return what a section says; nothing if it is left out.
std::string section_text(const Report& report, const std::string& id) {
    for (const Section& each : make_view(report).sections) {
        if (each.id == id) {
            return words_of(each.blocks).text;
        }
    }
    return "";
}

std::string answer_text(const Report& report) {
    return words_of(make_view(report).answer).text;
}

bool mentions(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// Return the rows of the first table with a chart.
std::vector<Row> chart_rows(const Report& report, const std::string& id) {
    for (const Section& each : make_view(report).sections) {
        for (const Block& block : each.blocks) {
            const auto* table = std::get_if<Table>(&block);
            if (each.id == id && table != nullptr && table->chart != Chart::kNone) {
                return table->rows;
            }
        }
    }
    return {};
}

TEST(ReportView, sample_has_every_section_in_the_order_of_questions) {
    std::vector<std::string> ids;
    for (const Section& each : make_view(sample_report()).sections) {
        ids.push_back(each.id);
    }
    EXPECT_EQ(ids, (std::vector<std::string>{"facts", "ages", "windows", "causes", "repeats",
                                             "tunnels", "places", "protocols", "time", "talkers",
                                             "modes", "what-if", "advice", "warnings"}));
}

TEST(ReportView, sections_with_nothing_to_say_are_left_out) {
    for (const char* id : {"ages", "windows", "causes", "repeats", "talkers", "warnings"}) {
        EXPECT_EQ(section_text(no_echo_report(), id), "") << id;
    }
    EXPECT_NE(section_text(no_echo_report(), "advice"), "");
    EXPECT_TRUE(make_view(empty_report()).sections.empty());
}

// The names of figures are paths in the JSON, which has the same values there.
TEST(ReportView, figures_are_those_of_the_json) {
    for (const Report& report : {sample_report(), same_time_report(), vast_report()}) {
        const nlohmann::ordered_json json = to_json(report);
        const ReportView view = make_view(report);
        std::vector<Cell> cells = words_of(view.answer).cells;
        for (const Section& each : view.sections) {
            const std::vector<Cell> more = words_of(each.blocks).cells;
            cells.insert(cells.end(), more.begin(), more.end());
        }
        std::size_t figures = 0;
        for (const Cell& cell : cells) {
            if (!cell.name.empty()) {
                std::string path = "/" + cell.name;
                std::replace(path.begin(), path.end(), '.', '/');
                EXPECT_EQ(json.at(nlohmann::json::json_pointer(path)), cell.value) << cell.name;
                ++figures;
            }
        }
        EXPECT_GT(figures, 30U);
    }
}

TEST(ReportView, interfaces_with_copies_come_first_and_empty_ones_are_left_out) {
    Report report = sample_report();
    report.interfaces.clear();
    for (unsigned i = 0; i < 40; ++i) {
        InterfaceInfo one;
        one.name = "port" + std::to_string(i) + ".";
        one.total = {i % 2 == 0 ? 100U : 0U, 6000};
        one.echoes = {i >= 30 && i % 2 == 0 ? i : 0U, 60};
        report.interfaces.push_back(one);
    }
    report.crossings.clear();
    const std::string text = section_text(report, "places");
    EXPECT_LT(text.find("port38."), text.find("port36."));
    EXPECT_LT(text.find("port30."), text.find("port2."));
    EXPECT_FALSE(mentions(text, "port39."));
    // 20 have packets, 10 are shown.
    EXPECT_TRUE(mentions(text, "and 10 more interfaces, and 20 interfaces without packets"))
        << text;
}

// The last interface stands for all those beyond the limit.
TEST(ReportView, interfaces_that_the_last_stands_for_are_counted) {
    Report report = sample_report();
    report.interfaces.assign(256, report.interfaces[0]);
    report.interfaces.back().name = "all others";
    report.interfaces.back().copied = {1, 60};
    report.other_interfaces = 1244;
    EXPECT_TRUE(mentions(section_text(report, "places"), "and 1,490 more interfaces"));
    report.interfaces.back().copied = {report.total.packets, 60};  // shown, in first place
    EXPECT_TRUE(mentions(section_text(report, "places"), "and 246 more interfaces"));
}

// Ages within 2 us, and one of 100 ms.
TEST(ReportView, gaps_between_ages_are_one_row) {
    Report report = sample_report();
    AgeHistogram ages;
    for (Nanoseconds age = 1000; age < 2000; ++age) {
        ages.add(age, Cause::kRouted);
    }
    ages.add(100 * kMillisecond, Cause::kRouted);
    report.ages = ages.ages();
    const std::vector<Row> rows = chart_rows(report, "ages");
    ASSERT_EQ(rows.size(), 5U);
    EXPECT_TRUE(rows[3].gap);
    EXPECT_EQ(rows[3].cells[0].text + " " + rows[3].cells[1].text, "2 us 100 ms");
}

TEST(ReportView, ages_over_many_powers_of_ten_are_few_rows) {
    Report report = sample_report();
    AgeHistogram ages;
    for (Nanoseconds age = 1; age < 1000 * kSecond; age += 1 + age / 20) {
        ages.add(age, Cause::kRouted);
    }
    report.ages = ages.ages();
    const std::vector<Row> rows = chart_rows(report, "ages");
    EXPECT_LE(rows.size(), 24U);
    EXPECT_GE(rows.size(), 9U);
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [](const Row& row) {
        return row.cells[0].text == "10 us" && row.cells[1].text == "31.6 us";
    }));
}

TEST(ReportView, many_inputs_are_one_line) {
    Report report = sample_report();
    report.files.clear();
    for (unsigned i = 0; i < 1500; ++i) {
        FileInfo file;
        file.path = "ring-" + std::to_string(10000 + i) + ".pcap";
        report.files.push_back(file);
        report.warnings.push_back({file.path, 7, 1, "the file ends within a packet"});
    }
    EXPECT_EQ(make_view(report).opening,
              "1,500 inputs, ring-10000.pcap to ring-11499.pcap: 91,500 packets, 58.6 MB on the "
              "wire, 58.6 MB captured, 12 s");
    EXPECT_TRUE(mentions(section_text(report, "facts"), "and 1,490 more inputs"));
    EXPECT_TRUE(mentions(section_text(report, "warnings"),
                         "the file ends within a packet; 1,500 other inputs too (1,501 times)"));
}

TEST(ReportView, tables_of_copies_leave_out_what_was_sent_again) {
    Report report = sample_report();
    report.echoes.packets += 50;
    report.causes[static_cast<std::size_t>(Cause::kPadded)].echoes.packets = 50;
    report.windows.back().fixed.packets += 50;
    EXPECT_FALSE(mentions(section_text(report, "causes"), "padded"));
    EXPECT_GT(chart_rows(report, "windows").back().bar.others, 0);
    EXPECT_EQ(chart_rows(sample_report(), "windows").back().cells.size(), 3U);
    EXPECT_EQ(chart_rows(report, "windows").back().cells.size(), 5U);
    for (const char* id : {"places", "time", "talkers"}) {
        EXPECT_TRUE(mentions(section_text(report, id), "and 50 sent again.")) << id;
        EXPECT_FALSE(mentions(section_text(sample_report(), id), "sent again.")) << id;
    }
}

TEST(ReportView, windows_count_frames_without_ip_where_they_are_to_be_compared) {
    Report report = sample_report();
    report.basis.frame_windows = report.windows;
    for (WindowRow& row : report.basis.frame_windows) {
        row.fixed = row.refresh = row.fixed_copied = row.refresh_copied = {1'000'000, 64};
    }
    EXPECT_FALSE(mentions(section_text(report, "windows"), "1,000,000"));
    report.recommendation.non_ip = packet::NonIp::kFrame;
    EXPECT_TRUE(mentions(section_text(report, "windows"), "counted as with non_ip frame."));
    EXPECT_TRUE(mentions(section_text(report, "windows"), "1,000,000"));
    EXPECT_TRUE(mentions(section_text(report, "modes"), " with policy fixed and non_ip frame."));
}

TEST(ReportView, window_of_a_capture_with_cut_copies_alone_has_no_share_of_copies) {
    Report report = sample_report();
    EXPECT_TRUE(mentions(section_text(report, "windows"), " of the copies; a longer one costs"));
    report.copied = {};
    EXPECT_FALSE(mentions(section_text(report, "windows"), " of the copies; a longer one costs"));
}

TEST(ReportView, what_was_not_compared_precedes_shares_and_commands) {
    Report report = sample_report();
    report.recommendation.pcap_options = "--window 5ms";
    report.not_compared = {{"nat", NotComparedEffect::kHidden, 5, "5 packets may be translated."}};
    const std::string text = to_text(report);
    EXPECT_LT(text.find("Not compared: 5 packets"), text.find("% of the packets are copies"))
        << text;
    EXPECT_LT(text.find("% of the packets are copies"), text.find("unecho pcap")) << text;
}

TEST(ReportView, says_one_share_of_the_copies_that_the_recommendation_removes) {
    Report report = sample_report();
    report.recommendation.covered = 0.432;
    report.recommendation.removed = report.copied;  // some of it was sent again
    const std::string text = to_text(report);
    EXPECT_TRUE(mentions(text, "removes 43.2 % of the copies")) << text;
    EXPECT_TRUE(mentions(text, ", 43.2 % of the copies")) << text;
    EXPECT_FALSE(mentions(text, "removes 100 % of the copies")) << text;
}

TEST(ReportView, few_packets_have_no_rate) {
    Report report = sample_report();
    EXPECT_TRUE(mentions(section_text(report, "facts"), "on average: 7.63 kpps, 39.1 Mbit/s;"))
        << section_text(report, "facts");
    EXPECT_TRUE(mentions(section_text(report, "facts"), "without copies, at most: 5.38 kpps, "))
        << section_text(report, "facts");
    report.blind_after.reset();
    EXPECT_TRUE(mentions(section_text(report, "facts"), "without copies: 5.38 kpps, 28.1 Mbit/s;"));
    for (const bool unknown : {false, true}) {
        Report other = report;
        other.copied = unknown ? report.copied : Count{};
        if (unknown) {
            other.not_compared = {
                {"short", NotComparedEffect::kUnknown, 5, "5 packets are short."}};
        }
        EXPECT_FALSE(mentions(section_text(other, "facts"), "without copies"));
    }
    report.total.packets = 99;
    EXPECT_FALSE(mentions(section_text(report, "facts"), "on average"));
}

TEST(ReportView, full_memory_is_said_and_makes_counts_upper_bounds) {
    Report report = sample_report();
    ASSERT_TRUE(report.blind_after);
    EXPECT_TRUE(mentions(answer_text(report), "Memory was full: echoes older than "));
    EXPECT_TRUE(mentions(section_text(report, "facts"), "different keys, at most: "));
    report.blind_after.reset();
    EXPECT_FALSE(mentions(answer_text(report), "Memory was full"));
    EXPECT_FALSE(mentions(section_text(report, "facts"), "at most"));
}

TEST(ReportView, tunnels_that_were_not_opened_are_said) {
    Report report = sample_report();
    report.tunnels->fragments = 1'234'567;
    EXPECT_TRUE(
        mentions(section_text(report, "tunnels"), "1,234,567 fragments of a tunnel's packets"));
    report.tunnels->opened = {};
    EXPECT_TRUE(
        mentions(section_text(report, "tunnels"), "1,234,567 fragments of a tunnel's packets"));
}

TEST(ReportView, commands_are_to_copy) {
    Report report = sample_report();
    EXPECT_FALSE(mentions(answer_text(report), "unecho pcap"));
    report.recommendation.pcap_options = "--window 5ms";
    EXPECT_TRUE(mentions(answer_text(report),
                         "Remove them: unecho pcap tap0.pcapng tap1.pcapng -o "
                         "clean.pcap --window 5ms\n"));
}

TEST(ReportView, one_is_singular) {
    const Report report = single_packet_report();
    std::string text = make_view(report).opening + answer_text(report);
    for (const Section& each : make_view(report).sections) {
        text += words_of(each.blocks).text;
    }
    EXPECT_TRUE(mentions(text, ": 1 packet, ")) << text;
    EXPECT_FALSE(mentions(text, " 1 packets")) << text;
    EXPECT_FALSE(mentions(text, " 1 echoes")) << text;
}

}  // namespace
}  // namespace unecho::analyze
