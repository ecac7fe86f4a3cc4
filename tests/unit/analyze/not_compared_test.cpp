// SPDX-License-Identifier: BSD-3-Clause
// The remarks in front of any share of copies. "No copies" is said only if it is known.
#include "captures/analyze/classify/not_compared.h"

#include <string>

#include <gtest/gtest.h>

#include "captures/analyze/report/report_text.h"
#include "captures/analyze/report/report_toml.h"

namespace unecho::analyze {
namespace {

constexpr std::uint64_t kPackets = 100;

// Return a report of packets that occurred once each.
Report plain_report() {
    Report report;
    report.total = {kPackets, kPackets * 100};
    report.duration = kSecond;
    report.files.push_back({"a.pcap", report.total, {}, {}});
    InterfaceInfo one;
    one.name = "a.pcap";
    one.link_type = 1;
    one.total = report.total;
    report.interfaces.push_back(one);
    for (std::size_t i = 0; i < kCauses; ++i) {
        report.causes.push_back({static_cast<Cause>(i), {}, {}});
    }
    report.recommendation.needed = false;
    return report;
}

void add_identical(Report& report, std::uint64_t echoes) {
    report.echoes = {echoes, echoes * 100};
    report.causes.back().echoes = report.echoes;
    report.copied = report.causes.back().copied = report.echoes;
    report.recommendation.needed = true;
}

Report noted(Report report, const HiddenCopyCounts& hidden = {}) {
    note_not_compared(report, hidden);
    return report;
}

// Return the first remark on what was not compared, or an empty string.
std::string first_of(const Report& report) {
    return report.not_compared.empty() ? "" : report.not_compared.front().what;
}

bool answers(const Report& report, const std::string& words) {
    return to_summary_text(report).find(words) != std::string::npos;
}

TEST(NotCompared, nothing_is_said_of_an_ordinary_capture) {
    const Report report = noted(plain_report());
    EXPECT_EQ(first_of(report), "");
    EXPECT_TRUE(answers(report, "\nNo copies.\n"));
}

TEST(NotCompared, equal_times_leave_copies_unknown) {
    Report report = plain_report();
    report.duration = 0;
    EXPECT_EQ(first_of(noted(report)), "");  // no packet occurred twice
    add_identical(report, 20);
    const Report said = noted(report);
    EXPECT_EQ(first_of(said), "no_times");
    EXPECT_TRUE(answers(said, "Whether there are copies cannot be known."));
    EXPECT_TRUE(answers(said, "If they are copies:  unecho pcap a.pcap -o clean.pcap"));
    EXPECT_FALSE(answers(said, "Remove them"));
    EXPECT_NE(to_html(said).find("<h1>Whether there are copies cannot be known.</h1>"),
              std::string::npos);
    EXPECT_EQ(to_html(said).find("What they cost"), std::string::npos);
    // A router is evidence even without times.
    std::swap(report.causes.back().echoes,
              report.causes[static_cast<std::size_t>(Cause::kRouted)].echoes);
    EXPECT_EQ(first_of(noted(report)), "");
}

TEST(NotCompared, one_of_three_packets_says_nothing) {
    Report report = plain_report();
    report.total.packets = 3;
    add_identical(report, 1);
    EXPECT_EQ(first_of(noted(report)), "few_packets");
    EXPECT_TRUE(answers(noted(report), "1 of 3 packets equals an earlier one"));
    Report crossed = report;
    crossed.crossings.push_back({0, 1, {1, 100}});
    EXPECT_EQ(first_of(noted(crossed)), "");
    Report many = report;
    many.total.packets = 8;
    EXPECT_EQ(first_of(noted(many)), "");
}

TEST(NotCompared, short_frames_are_equal_by_chance) {
    Report report = plain_report();
    add_identical(report, 40);
    report.basis.short_echoes = 40;
    EXPECT_EQ(noted(report).not_compared.at(0).effect, NotComparedEffect::kUnknown);
    report.basis.short_echoes = 30;
    EXPECT_EQ(noted(report).not_compared.at(0).effect, NotComparedEffect::kHidden);
    EXPECT_TRUE(answers(noted(report), "40.0 % of the packets are copies: 40."));
}

TEST(NotCompared, what_holds_no_ip_packet_is_named_first) {
    Report link = plain_report();
    link.interfaces.front().link_type = 195;
    link.warnings.push_back(
        {"a.pcap", 1, 1, "link type 195 (X) without a parser: packets pass", "link_type"});
    EXPECT_EQ(first_of(noted(link)), "link_type");
    EXPECT_TRUE(answers(noted(link), "100 of 100 packets are of link type 195"));
    EXPECT_TRUE(answers(noted(link), "No copies among what could be compared."));
    EXPECT_FALSE(answers(noted(link), "Note: "));

    Report type = plain_report();
    type.non_ip = {60, 6000};
    type.non_ip_types = {{"0x9abc", "", 60}};
    EXPECT_EQ(first_of(noted(type)), "ether_type");
    EXPECT_TRUE(answers(noted(type), "60 of 100 packets have an unknown EtherType (0x9abc)."));
    EXPECT_TRUE(answers(noted(type), "No copies among what could be compared."));
    EXPECT_FALSE(answers(noted(type), "Without an IP packet"));
    type.non_ip_types = {{"0x88a4", "EtherCAT", 60}};
    EXPECT_EQ(first_of(noted(type)), "");

    Report bad = plain_report();
    bad.malformed = {2, 0};
    EXPECT_EQ(first_of(noted(bad)), "malformed");
    HiddenCopyCounts hidden;
    hidden.empty = 2;
    EXPECT_TRUE(answers(noted(bad, hidden), "2 of 100 packets are empty"));
}

TEST(NotCompared, tunnels_are_named_with_what_opens_them) {
    HiddenCopyCounts hidden;
    hidden.looked_at = kPackets;
    hidden.tunnels = {{5000, 30}, {5001, 20}};
    Report report = plain_report();
    EXPECT_EQ(first_of(noted(report, hidden)), "udp_tunnel");
    EXPECT_NE(
        noted(report, hidden)
            .not_compared.at(0)
            .text.find("50 of 100 packets look like VXLAN on UDP ports 5000,5001, and are compared "
                       "unopened. --tunnels vxlan --vxlan-ports 5000,5001 opens them."),
        std::string::npos);
    report.basis.vxlan_ports = {4444};
    EXPECT_NE(noted(report, hidden).not_compared.at(0).text.find("--vxlan-ports 4444,5000,5001"),
              std::string::npos);
    hidden.tunnels = {{static_cast<std::uint32_t>(UdpTunnel::kGeneve) << 16 | 7000, 50}};
    EXPECT_NE(noted(report, hidden).not_compared.at(0).text.find("on port 6081 alone"),
              std::string::npos);
    hidden.tunnels = {{5000, 1}};  // a single one may be chance
    EXPECT_EQ(first_of(noted(report, hidden)), "");
    report.tunnels.emplace();
    report.tunnels->fragments = 8;
    report.tunnels->malformed = 4;
    EXPECT_NE(noted(report).not_compared.at(0).text.find(
                  "8 fragments (reassemble them first), 4 cut short or malformed"),
              std::string::npos);
}

TEST(NotCompared, nat_and_merged_segments_stay_and_are_named) {
    HiddenCopyCounts hidden;
    hidden.identified = 48;
    hidden.translated = 24;
    hidden.ttl_step = 1;
    EXPECT_EQ(first_of(noted(plain_report(), hidden)), "nat");
    EXPECT_TRUE(answers(noted(plain_report(), hidden), "24 of 48 IPv4 packets came before"));
    EXPECT_TRUE(answers(noted(plain_report(), hidden), "No copies that unecho removes."));
    hidden.translated = 1;
    EXPECT_EQ(first_of(noted(plain_report(), hidden)), "");
    hidden.segments = 50;
    hidden.merged = 10;
    hidden.merged_within = 78 * kMicrosecond;
    EXPECT_EQ(first_of(noted(plain_report(), hidden)), "merged_segments");
    EXPECT_TRUE(answers(noted(plain_report(), hidden), "10 of 50 TCP segments hold"));
}

}  // namespace
}  // namespace unecho::analyze
