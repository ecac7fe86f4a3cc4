// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/recommend/what_if.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "captures/analyze/report/report_text.h"
#include "captures/analyze/report/text_format.h"
#include "sample_report.h"
#include "stream.h"

namespace unecho::analyze {
namespace {

using test::PacketSpec;

PacketSpec asked_packet(std::uint16_t id) {
    PacketSpec spec;
    spec.id = id;
    spec.payload = test::counting(30);
    return spec;
}

// 20 packets with copies 20 us later, and a hello of ID 0 every 200 ms, so 4 repeats.
Stream copies_and_hellos() {
    Stream stream;
    for (std::uint16_t i = 0; i < 20; ++i) {
        const Nanoseconds at = kSecond + i * 40 * kMillisecond;
        if (i % 5 == 0) {
            stream.add(at - kMillisecond, asked_packet(0));
        }
        stream.add(at, asked_packet(100 + i));
        stream.add(at + 20 * kMicrosecond, asked_packet(100 + i));
    }
    return stream;
}

WhatIf answer(Stream& stream, const std::vector<std::size_t>& removed,
              const Recommendation& advice) {
    Collector collector(std::uint64_t{16} << 20, hash::secret_from_seed(1));
    collector.ask();
    // In two parts, neither of them a whole number of bursts.
    const std::span<const capture::Record> all(stream.records());
    const std::size_t half = all.size() / 2 + 1;
    std::vector<std::size_t> first;
    std::vector<std::size_t> second;
    for (const std::size_t one : removed) {
        if (one < half) {
            first.push_back(one);
        } else {
            second.push_back(one - half);
        }
    }
    collector.add(all.first(half), stream.interfaces(), first);
    collector.add(all.subspan(half), stream.interfaces(), second);
    Findings findings = collector.findings();
    Report report = findings.report();
    report.recommendation = advice;
    return findings.what_if({}, report);
}

Recommendation removing(const Count& removed, const Count& copies) {
    Recommendation out;
    out.removed = removed;
    out.removed_copies = copies;
    return out;
}

bool is_hello(const capture::Record& record) {
    return record.time % (40 * kMillisecond) == 39 * kMillisecond;
}

TEST(WhatIf, sorts_what_is_removed_into_copies_and_what_was_sent_again) {
    Stream stream = copies_and_hellos();
    std::vector<std::size_t> removed;
    bool hello = false;
    unsigned copies = 0;
    for (std::size_t i = 0; i < stream.records().size(); ++i) {
        const capture::Record& record = stream.records()[i];
        const bool is_copy = record.time % (40 * kMillisecond) == 20 * kMicrosecond;
        if ((is_hello(record) && std::exchange(hello, true)) || (is_copy && copies++ < 15)) {
            removed.push_back(i);
        }
    }
    removed.push_back(stream.records().size() - 2);  // the last packet, instead of its copy
    const std::uint64_t length = stream.records()[0].length;
    const auto counted = [&](std::uint64_t packets) { return Count{packets, packets * length}; };
    const WhatIf got = answer(stream, removed, removing(counted(20), counted(20)));
    EXPECT_EQ(got.asked.removed, counted(15 + 3 + 1));
    EXPECT_EQ(got.asked.copies, counted(15));
    EXPECT_EQ(got.asked.left, counted(5));
    EXPECT_EQ(got.asked.sent_again, counted(3));
    EXPECT_EQ(got.asked.others, counted(1));
    EXPECT_EQ(got.recommended.removed, counted(20));
    EXPECT_EQ(got.recommended.copies, counted(20));
    EXPECT_EQ(got.recommended.left, counted(0));
    EXPECT_EQ(got.recommended.sent_again, counted(0));
    EXPECT_EQ(got.recommended.others, counted(0));
    EXPECT_EQ(got.verdict,
              "It takes out 3 packets that were sent again and 1 packet that is no copy: somebody "
              "will miss them. It leaves 5 copied packets in.");
}

TEST(WhatIf, recommended_side_is_what_the_recommendation_counts) {
    Stream stream = copies_and_hellos();
    const std::uint64_t length = stream.records()[0].length;
    const WhatIf got = answer(stream, {}, removing({22, 22 * length}, {19, 19 * length}));
    EXPECT_EQ(got.recommended.copies.packets, 19U);
    EXPECT_EQ(got.recommended.left.packets, 1U);
    EXPECT_EQ(got.recommended.sent_again.packets, 3U);
    EXPECT_EQ(got.recommended.others.packets, 0U);
    EXPECT_EQ(got.verdict, "It leaves 20 copied packets in.");
}

// A tagged copy 5 us later, and a repeat with another tag 2 s later.
TEST(WhatIf, frames_without_ip_are_sorted_as_packets_are) {
    Stream stream = copies_and_hellos();
    test::Bytes arp(60, 0x11);
    arp[12] = 0x08;
    arp[13] = 0x06;
    test::Bytes tagged = arp;
    tagged.insert(tagged.begin() + 12, {0x81, 0x00, 0x00, 0x05});
    stream.add(10 * kSecond, arp);
    stream.add(10 * kSecond + 5000, tagged);
    tagged[15] = 6;
    stream.add(12 * kSecond, tagged);
    const std::size_t size = stream.records().size();
    const WhatIf got = answer(stream, {size - 2, size - 1}, removing({20, 0}, {20, 0}));
    EXPECT_EQ(got.asked.copies.packets, 1U);
    EXPECT_EQ(got.asked.sent_again.packets, 1U);
    EXPECT_EQ(got.asked.others.packets, 0U);
    EXPECT_EQ(got.asked.left.packets, 20U);
    EXPECT_EQ(got.recommended.left.packets, 1U) << "it passes the tagged one";
}

TEST(WhatIf, verdicts_of_nothing_to_remove_and_of_all_removed) {
    Stream alone;
    alone.add(kSecond, asked_packet(1));
    EXPECT_EQ(answer(alone, {}, removing({}, {})).verdict,
              "It removes nothing here, and nothing here was copied.");
    Stream stream;
    stream.add(kSecond, asked_packet(7));
    stream.add(kSecond + 5, asked_packet(7));
    stream.add(kSecond + 9, asked_packet(2));
    EXPECT_EQ(answer(stream, {1}, removing({}, {})).verdict,
              "It removes all copies and nothing else.");
}

TEST(WhatIf, text_names_the_configuration_and_what_was_forgotten) {
    Report report = sample_report();
    report.what_if->first = 3;
    report.what_if->key = packet::KeyMode::kFlow;
    report.what_if->window.reset();
    const std::string text = to_text(report);
    EXPECT_NE(text.find("Asked for: key flow, non-IP frames too, no end of the window, tunnels "
                        "vxlan, tenant ignore,\n  the first 96 bytes, policy refresh, first 3."),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("77 packets were forgotten inside the window"), std::string::npos) << text;
    report.what_if.reset();
    EXPECT_EQ(to_text(report).find("What would this do here?"), std::string::npos);
}

TEST(WhatIf, answer_on_one_screen_says_what_was_asked_and_found) {
    Report report = sample_report();
    WhatIf asked;
    asked.key = packet::KeyMode::kFlow;
    asked.window = 5 * kMillisecond;
    asked.tags = packet::Tags::kPoint;
    asked.verdict = "It removes nothing here, and nothing here was copied.";
    report.what_if = asked;
    const auto words = [&] {
        std::string text = to_summary_text(report);
        std::replace(text.begin(), text.end(), '\n', ' ');
        return text;
    };
    EXPECT_NE(words().find("Asked for key flow, window 5 ms, tags point: no packet here is an echo "
                           "by that. It removes nothing here, and nothing here was copied."),
              std::string::npos)
        << words();
    report.what_if->asked = {{7, 700}, {4, 400}, {3, 300}, {2, 200}, {1, 100}};
    report.what_if->verdict = "It leaves 3 copied packets in.";
    EXPECT_NE(
        words().find("Asked for key flow, window 5 ms, tags point: that would remove 7 packets "
                     "(4 copied packets, 2 sent again, 1 no copies). It leaves 3 copied "
                     "packets in."),
        std::string::npos)
        << words();
    EXPECT_NE(to_text(report).find("  tags "), std::string::npos);
    report.what_if.reset();
    EXPECT_EQ(words().find("Asked for"), std::string::npos);
}

TEST(WhatIf, text_and_page_have_each_count) {
    Report report = sample_report();
    std::uint64_t packets = 1'111'111;
    for (const RemovalRow& row : kRemovalRows) {
        (report.what_if->asked.*row.count).packets = packets;
        packets += 1'111'111;
    }
    const std::string text = to_text(report);
    const std::string page = to_html(report);
    for (const RemovalRow& row : kRemovalRows) {
        const std::uint64_t shown = (report.what_if->asked.*row.count).packets;
        EXPECT_NE(text.find("  " + std::string(row.words) + " "), std::string::npos) << row.words;
        EXPECT_NE(text.find(format_count(shown)), std::string::npos) << row.words;
        EXPECT_NE(page.find(">" + std::string(row.words) + "<"), std::string::npos) << row.words;
        EXPECT_NE(page.find("what_if.asked." + std::string(row.name) + ".packets\" value=\"" +
                            std::to_string(shown)),
                  std::string::npos)
            << row.name;
    }
}

}  // namespace
}  // namespace unecho::analyze
