// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/status/status_text.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "seen.h"

namespace unecho::monitor {
namespace {

// A second later: 500 packets more, 400 of them echoes.
SnapshotPair a_second() {
    SnapshotPair snapshots{healthy(), healthy(), kSecond};
    Json& now = snapshots.after;
    for (Json* counts : {&now["counters"], &now["routes"][0]}) {
        (*counts)["received"] = 1500;
        (*counts)["forwarded"] = 700;
        (*counts)["dropped"] = 790;
    }
    for (Json* reasons : {&now["reasons"], &now["routes"][0]["reasons"]}) {
        (*reasons)["new"] = 700;
        (*reasons)["echo"] = 790;
    }
    now["ports"][0]["rx_packets"] = 1000;
    now["workers"][0]["polls"] = 5000;
    now["workers"][0]["empty_polls"] = 3250;
    return snapshots;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        out.push_back(line);
    }
    return out;
}

std::vector<std::string> words_of(const std::string& text, const std::string& begin) {
    for (const std::string& line : lines_of(text)) {
        std::istringstream in(line);
        std::vector<std::string> words;
        for (std::string word; in >> word;) {
            words.push_back(word);
        }
        if (!words.empty() && words[0] == begin) {
            return words;
        }
    }
    return {};
}

using Words = std::vector<std::string>;

// Return an appliance with this status, judged by what is true now.
ApplianceStatus judged(const Json& seen) {
    ApplianceStatus out = running(seen);
    out.health = check_health({out.seen, Json(), Json(), out.answered});
    return out;
}

TEST(StatusText, has_rates_beside_totals) {
    const std::string text = status_text(running(), a_second(), {false, 200});
    EXPECT_EQ(lines_of(text)[0], "taps  unecho 1.2.3, up 5 s, pid 77");
    EXPECT_EQ(lines_of(text)[1], "all is well");
    EXPECT_EQ(words_of(text, "received"),
              (Words{"received", "500", "100", "%", "1,500", "100", "%"}));
    EXPECT_EQ(words_of(text, "echo"), (Words{"echo", "400", "80.0", "%", "790", "52.7", "%"}));
    EXPECT_EQ(words_of(text, "tap-a"), (Words{"tap-a", "500", "0", "1,000", "0", "0", "up"}));
    EXPECT_EQ(words_of(text, "tap-a+tap-b>tool"),
              (Words{"tap-a+tap-b>tool", "500", "80.0", "%", "1,500", "52.7", "%", "echo"}));
    const Words worker = words_of(text, "lcore");
    ASSERT_GE(worker.size(), 4U);
    EXPECT_EQ(worker[2] + worker[3], "75.0%");
}

TEST(StatusText, has_fill_against_plan_and_how_late_a_generation_was) {
    const std::string text = status_text(running(), a_second(), {false, 200});
    const auto at = text.find("generations of");
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_NE(text.find("75.0 %"), std::string::npos) << text;
    const Words late = words_of(text.substr(at), "echo");
    ASSERT_GE(late.size(), 7U) << text;
    EXPECT_EQ(late[5] + " " + late[6], "1 ms") << text;
    Json without = healthy();
    for (const char* name : {"fill", "planned_fill", "generation_ns", "longest_generation_ns"}) {
        without["filters"][0].erase(name);
    }
    EXPECT_EQ(
        status_text(running(), {without, without, kSecond}, {false, 200}).find("generations of"),
        std::string::npos)
        << "an older version does not tell";
}

TEST(StatusText, has_what_sites_share_where_they_do) {
    EXPECT_EQ(status_text(running(), a_second(), {false, 200}).find("root of"), std::string::npos);
    SnapshotPair snapshots = a_second();
    for (Json* look : {&snapshots.before, &snapshots.after}) {
        (*look)["filters"][0]["root"] = {
            {"masters", 3}, {"answering", 2}, {"asked", 1000},   {"not_asked", 7},
            {"known", 40},  {"late", 41},     {"unanswered", 5}, {"longest_round_trip", 2'000'000}};
    }
    snapshots.after["filters"][0]["root"]["asked"] = 1500;
    const std::string text = status_text(running(), snapshots, {false, 200});
    const auto at = text.find("root of");
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_EQ(words_of(text.substr(at), "echo"),
              (Words{"echo", "2", "of", "3", "500", "1,507", "40", "41", "12", "2", "ms"}));
}

TEST(StatusText, says_what_the_audit_measured) {
    const std::string text = status_text(running(), a_second(), {false, 200});
    for (const char* line :
         {"    false drops: 3 of 290,000,000, 1e-08 [2e-09, 3e-08], bound 1e-06: held",
          "    misses: 0 of 20, 0 [0, 0.17]: open",
          "    99.9 % of the copies come within 380 us"}) {
        EXPECT_NE(text.find(std::string(line) + "\n"), std::string::npos) << line << "\n" << text;
    }
    SnapshotPair snapshots = a_second();
    snapshots.after["filters"][0]["audit"]["misses"]["explained"] = {{"evicted", 1},
                                                                     {"stall", 1200}};
    const std::string reasons = status_text(running(), snapshots, {false, 200});
    EXPECT_NE(reasons.find("[0, 0.17]: open; and with a reason: 1 evicted, 1,200 stall\n"),
              std::string::npos)
        << reasons;
}

TEST(StatusText, has_paths_where_something_went) {
    EXPECT_EQ(status_text(running(), a_second(), {false, 120}).find("99 % within"),
              std::string::npos);
    SnapshotPair snapshots = a_second();
    snapshots.after["paths"] = two_paths();
    const std::string text = status_text(running(), snapshots, {false, 120});
    const std::string path =
        "\n\n"
        "  path         sampled  missing    loss    95 % interval  median  99 % within  late\n"
        "  tap-a>tap-b   10,000       50  0.50 %  0.37 % - 0.66 %  120 us       480 us   0 %\n"
        "  changed on tap-a>tap-b: ttl 100 %, tags added 10.0 %\n";
    EXPECT_NE(text.find(path), std::string::npos) << text;
    EXPECT_EQ(text.find("tap-b>tap-a"), std::string::npos) << text;
    EXPECT_NE(status_text(running(), snapshots, {false, 83}).find("95 % interval"),
              std::string::npos);
}

// Without the interval and the share of late packets, names have room for 33 characters.
TEST(StatusText, paths_with_long_names_lose_the_interval_first) {
    SnapshotPair snapshots = a_second();
    snapshots.after["paths"] = two_paths();
    Json& path = snapshots.after["paths"][0];
    path["name"] = "datacentre-north>datacentre-south";
    path["max_path_delay_ns"] = Json();
    path["loss"]["of"] = path["loss"]["count"] = 0;
    snapshots.after["paths"].erase(1);
    const std::string narrow = status_text(running(), snapshots, {false, 80});
    EXPECT_EQ(words_of(narrow, "datacentre-north>datacentre-south"),
              (Words{"datacentre-north>datacentre-south", "0", "0", "-", "120", "us", "480", "us"}))
        << narrow;
    const std::string wide = status_text(running(), snapshots, {false, 120});
    EXPECT_NE(wide.find("95 % interval"), std::string::npos) << wide;
}

// A remedy that is cut amid a word helps nobody.
TEST(StatusText, sentences_are_whole_at_any_width) {
    SnapshotPair snapshots = a_second();
    snapshots.after["ports"][0]["link_up"] = false;
    const std::string advice(
        "99.9 % of the copies come within 380 us, and the window is 50 ms: a window as short as "
        "that needs about 1/100 of the memory.");
    snapshots.after["filters"][0]["audit"]["advice"] = {advice};
    for (const std::size_t width : {40U, 80U, 200U}) {
        std::string text = status_text(judged(snapshots.after), snapshots, {false, width});
        for (std::size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos;) {
            text.replace(at, text.find_first_not_of(' ', at + 1) - at, " ");
        }
        EXPECT_NE(text.find("advice for echo: " + advice + "\n"), std::string::npos) << text;
        EXPECT_NE(text.find("warning: The link of port tap-a is down. Check the cable, the "
                            "transceiver and the device at the other end. unecho continues when "
                            "the link is up. [link-down]\ndocs/runbook.md"),
                  std::string::npos)
            << text;
    }
}

TEST(StatusText, what_is_wrong_comes_first_and_in_colour) {
    SnapshotPair snapshots = a_second();
    snapshots.after["ports"][1]["link_up"] = false;
    snapshots.after["counters"]["received"] = 2000;
    const ApplianceStatus appliance = judged(snapshots.after);
    const auto plain = lines_of(status_text(appliance, snapshots, {false, 400}));
    EXPECT_EQ(
        plain[1].find("BROKEN: unecho received 2,000 packets and accounts for 1,500 packets. "), 0U)
        << plain[1];
    EXPECT_EQ(plain[2].find("warning: The link of port tap \"b\"\\ is down. "), 0U) << plain[2];
    const auto coloured = lines_of(status_text(appliance, snapshots, {true, 400}));
    EXPECT_EQ(coloured[1].find("\x1b[1;31m"), 0U);
    EXPECT_EQ(status_text(appliance, snapshots, {false, 400}).find('\x1b'), std::string::npos);
}

TEST(StatusText, what_is_acknowledged_is_shown_as_such) {
    SnapshotPair snapshots = a_second();
    snapshots.after["ports"][0]["link_up"] = false;
    snapshots.after["acknowledged"] = {
        {{"rule", "link-down"}, {"where", "port tap-a"}, {"unix_ns", running().answered}}};
    const ApplianceStatus appliance = judged(snapshots.after);
    EXPECT_EQ(lines_of(status_text(appliance, snapshots, {false, 400}))[1].find(
                  "acknowledged: The link of port tap-a is down."),
              0U);
    EXPECT_NE(check_text(appliance).find("all accounted for; acknowledged: The link of port tap-a"),
              std::string::npos)
        << check_text(appliance);
}

TEST(StatusText, no_line_is_wider_than_the_terminal) {
    SnapshotPair snapshots = a_second();
    snapshots.after["ports"][0]["name"] = std::string(100, 'x');
    snapshots.after["ports"][0]["link_up"] = false;
    snapshots.after["paths"] = two_paths();
    for (const std::size_t width : {40U, 80U, 120U}) {
        for (const std::string& line :
             lines_of(status_text(judged(snapshots.after), snapshots, {false, width}))) {
            EXPECT_LE(line.size(), std::max<std::size_t>(width, 60)) << line;
        }
    }
}

TEST(StatusText, of_one_that_does_not_answer_is_one_line) {
    ApplianceStatus silent = running();
    silent.state = ApplianceState::kSilent;
    silent.problem = "does not answer";
    EXPECT_EQ(status_text(silent, {}, {false, 80}), "taps is silent: it does not answer\n");
}

TEST(StatusText, names_cannot_move_the_cursor) {
    SnapshotPair snapshots = a_second();
    snapshots.after["ports"][0]["name"] = "a\x1b[2J";
    snapshots.after["ports"][0]["link_up"] = false;
    EXPECT_EQ(status_text(judged(snapshots.after), snapshots, {false, 200}).find('\x1b'),
              std::string::npos);
}

TEST(StatusText, is_cut_to_the_height_of_the_terminal) {
    EXPECT_EQ(cut_to_height("a\nb\nc\n", 3), "a\nb\nc\n");
    EXPECT_EQ(cut_to_height("a\nb\nc\nd\n", 3), "a\nb\n... 2 more lines\n");
    EXPECT_EQ(cut_to_height("a\nb\n", 1), "... 2 more lines\n");
}

TEST(CheckText, is_a_line_of_a_plugin) {
    SnapshotPair snapshots = a_second();
    EXPECT_EQ(check_text(judged(snapshots.after)),
              "UNECHO OK - taps: 1,500 packets received, 790 dropped, all accounted for | "
              "received=1500c forwarded=700c diverted=0c dropped=790c\n");
    snapshots.after["ports"][0]["link_up"] = false;
    EXPECT_EQ(check_text(judged(snapshots.after)),
              "UNECHO WARNING - taps: The link of port tap-a is down. Check the cable, the "
              "transceiver and the device at the other end. unecho continues when the link is up. "
              "[link-down] | received=1500c forwarded=700c diverted=0c dropped=790c\n");
    snapshots.after["workers"][0]["answering"] = false;
    const std::string line = check_text(judged(snapshots.after));
    EXPECT_EQ(line.find("UNECHO CRITICAL - taps: The worker on lcore 3 does not answer"), 0U);
    EXPECT_LT(line.find("[worker-silent]; The link of port tap-a is down"), line.find(" |"));
}

// Names are foreign, and must not add data for a monitoring system to draw.
TEST(CheckText, has_one_bar) {
    Json seen = a_second().after;
    seen["ports"][0]["name"] = "a|received=0c";
    seen["ports"][0]["link_up"] = false;
    ApplianceStatus appliance = judged(seen);
    appliance.name = "taps|";
    const std::string line = check_text(appliance);
    EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 1) << line;
}

}  // namespace
}  // namespace unecho::monitor
