// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/recommend/recommend.h"

#include <gtest/gtest.h>

#include "captures/analyze/tally/windows.h"
#include "config/schema.h"
#include "stream.h"

namespace unecho::analyze {
namespace {

constexpr std::uint16_t kNoId = 0;
constexpr unsigned kWithId = 40'000;

test::PacketSpec sample_packet(unsigned number) {
    test::PacketSpec spec;
    spec.id = static_cast<std::uint16_t>(number);
    spec.source = 0x0A000000 | number >> 16;
    spec.payload = test::counting(20);
    return spec;
}

// Add n packets, each with a copy `delay` later; a millisecond separates the pairs.
void add_pairs(Stream& stream, Nanoseconds& now, unsigned first, unsigned n, Nanoseconds delay) {
    for (unsigned i = first; i < first + n; ++i) {
        stream.add(now, sample_packet(i));
        stream.add(now + delay, sample_packet(i));
        now += delay + kMillisecond;
    }
}

Report recommended(const Stream& stream) {
    Collector collector(std::uint64_t{64} << 20, hash::secret_from_seed(1));
    std::vector<capture::Interface> interfaces(8);
    for (auto& one : interfaces) {
        one.link_type = 1;
    }
    collector.add(stream.records(), interfaces);
    Findings findings = collector.findings();
    Report report = findings.report();
    recommend(report, {findings.accepted(), findings.all()});
    return report;
}

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// Packets with one copy each, so late.
struct Pairs {
    unsigned first;
    unsigned packets;
    Nanoseconds late;
};

struct WindowCase {
    std::vector<Pairs> pairs;
    Nanoseconds window;
    std::uint64_t removed;
    const char* said;
};

// Half more than the age of nearly all copies, rounded up, but no more than the gap behind them
// leaves room for. Packets without an ID, or that were late by many times as much, were sent again.
TEST(Recommend, window_spans_copies_and_ends_before_what_was_sent_again) {
    const std::vector<WindowCase> cases{
        {{{kWithId, 1000, 3 * kMillisecond}},
         5 * kMillisecond,
         1000,
         "99.9 % of the copies come within 3"},
        {{{kWithId, 100, 300}}, kMillisecond, 100, ""},
        {{{2, 1, 7200 * kSecond}}, 50 * kMillisecond, 0, "Nothing was copied"},
        {{{2, 1000, 30 * kMillisecond}, {kNoId, 1, 75 * kMillisecond}},
         50 * kMillisecond,
         1000,
         "1 packet was sent again from 75 ms on"},
        {{{kWithId, 1000, 10 * kMillisecond}, {1000, 20, 900 * kMillisecond}},
         20 * kMillisecond,
         1000,
         "20 packets were sent again from 900 ms on: a wide gap"},
        {{{kWithId, 500, 20 * kMicrosecond}, {500, 400, 40 * kMillisecond}},
         100 * kMillisecond,
         900,
         ""},
        {{{kWithId, 100, 100 * kMicrosecond}, {100, 300, 3 * kSecond}}, kMillisecond, 100, ""},
        {{{kWithId, 1000, 105 * kMillisecond}, {1000, 10, 475 * kMillisecond}},
         200 * kMillisecond,
         1000,
         ""}};
    for (std::size_t i = 0; i < cases.size(); ++i) {
        SCOPED_TRACE(i);
        Stream stream;
        Nanoseconds now = 0;
        for (const Pairs& some : cases[i].pairs) {
            add_pairs(stream, now, some.first, some.packets, some.late);
        }
        const Recommendation out = recommended(stream).recommendation;
        EXPECT_EQ(out.window, cases[i].window);
        EXPECT_EQ(out.removed.packets, cases[i].removed);
        EXPECT_EQ(out.needed, cases[i].removed != 0);
        EXPECT_TRUE(says(out.window_reason + out.sure_reason, cases[i].said))
            << out.window_reason << out.sure_reason;
    }
}

// However short the ages are, and whatever lies between them.
TEST(Recommend, window_holds_all_copies_of_less_than_a_millisecond) {
    for (const Nanoseconds late : {Nanoseconds{50}, Nanoseconds{700}, 2 * kMicrosecond,
                                   300 * kMicrosecond, 999 * kMicrosecond}) {
        for (const Nanoseconds early : {Nanoseconds{0}, Nanoseconds{4}}) {
            Stream stream;
            Nanoseconds now = 0;
            add_pairs(stream, now, 2, 40, early);
            add_pairs(stream, now, 42, 1, late);
            const Recommendation out = recommended(stream).recommendation;
            EXPECT_EQ(out.window, 3 * late <= 2 * kMillisecond ? kMillisecond : 2 * kMillisecond);
            EXPECT_EQ(out.removed.packets, 41U);
        }
    }
}

TEST(Recommend, window_without_copies_is_shorter_than_what_was_sent_again) {
    Stream stream;
    test::PacketSpec spec = sample_packet(kNoId);
    for (unsigned i = 0; i < 10; ++i) {
        stream.add(i * 15 * kMillisecond, spec);
    }
    const Recommendation out = recommended(stream).recommendation;
    EXPECT_FALSE(out.needed);
    EXPECT_EQ(out.window, 10 * kMillisecond);
    EXPECT_EQ(out.removed.packets, 0U);
}

TEST(Recommend, window_spans_all_copies_of_a_packet) {
    Stream stream;
    for (unsigned i = 0; i < 100; ++i) {
        for (unsigned copy = 0; copy < 4; ++copy) {
            stream.add(i * kSecond + copy * 20 * kMillisecond, sample_packet(kWithId + i));
        }
    }
    const Recommendation out = recommended(stream).recommendation;
    EXPECT_EQ(out.window, 100 * kMillisecond);  // 50 ms would suffice for one copy
    EXPECT_EQ(out.policy, engines::Policy::kFixed);
    EXPECT_EQ(out.covered, 1);
    EXPECT_TRUE(says(out.window_reason, "spans all copies"));
}

test::PacketSpec packet_without_id(unsigned number) {
    test::PacketSpec spec = sample_packet(number);
    spec.id = kNoId;
    spec.payload = test::counting(20 + number % 1000);
    return spec;
}

TEST(Recommend, a_port_that_shows_each_packet_four_times_needs_four_views) {
    Stream stream;
    for (unsigned i = 0; i < 100; ++i) {
        for (unsigned view = 0; view < 4; ++view) {
            stream.add(i * kMillisecond + view * kMicrosecond, packet_without_id(i));
        }
    }
    const Recommendation out = recommended(stream).recommendation;
    EXPECT_EQ(out.repeats, packet::Repeats::kKeep);
    EXPECT_EQ(out.views, 4U);
    EXPECT_EQ(out.removed.packets, 300U);
}

// Too few for a doubled population, or later than same_port: each case has a remedy.
TEST(Recommend, second_looks_that_the_defaults_leave_in_are_told_by_same_port_and_second_looks) {
    for (const unsigned packets : {20U, 100U}) {
        Stream stream;
        const Nanoseconds late = packets == 20 ? 20 * kMicrosecond : 800 * kMicrosecond;
        for (unsigned i = 0; i < packets; ++i) {
            stream.add(i * kMillisecond, packet_without_id(i));
            stream.add(i * kMillisecond + late, packet_without_id(i));
        }
        const Recommendation out = recommended(stream).recommendation;
        EXPECT_EQ(out.repeats, packet::Repeats::kKeep) << packets;
        EXPECT_EQ(out.second_looks,
                  packets == 20 ? packet::SecondLooks::kAll : packet::SecondLooks::kDoubled);
        EXPECT_GT(out.same_port.value_or(config::kDefaultSamePort), late);
        EXPECT_EQ(out.removed.packets, packets);
    }
}

// The second tap shows each packet twice, the first does not.
TEST(Recommend, second_looks_of_another_point_than_the_first_count) {
    Stream stream;
    for (unsigned i = 0; i < 100; ++i) {
        stream.add(i * kMillisecond, packet_without_id(i));
        stream.add(i * kMillisecond + 100 * kMicrosecond, packet_without_id(i), 1);
        stream.add(i * kMillisecond + 104 * kMicrosecond, packet_without_id(i), 1);
    }
    const Recommendation out = recommended(stream).recommendation;
    EXPECT_EQ(out.repeats, packet::Repeats::kKeep);
    EXPECT_GE(out.same_port.value_or(0), 4 * kMicrosecond);
    EXPECT_EQ(out.removed.packets, 200U);
}

// Both sides of a switch that adds tags: the link is the same, the tags differ.
TEST(Recommend, where_tags_tell_copies_they_are_part_of_the_point) {
    Stream stream;
    for (unsigned i = 0; i < 100; ++i) {
        test::PacketSpec tagged = packet_without_id(i);
        tagged.tags = {{0x8100, 7}};
        stream.add(i * kMillisecond, packet_without_id(i));
        stream.add(i * kMillisecond + 3 * kMillisecond / 10, tagged);
    }
    const Recommendation out = recommended(stream).recommendation;
    EXPECT_EQ(out.tags, packet::Tags::kPoint);
    EXPECT_EQ(out.removed.packets, 100U);
}

// A packet that both taps see again 3 ms later was repeated, and is kept.
TEST(Recommend, what_was_sent_again_stays_between_taps) {
    Stream stream;
    for (unsigned i = 0; i < 100; ++i) {
        stream.add(i * 10 * kMillisecond, packet_without_id(i));
        stream.add(i * 10 * kMillisecond + kMillisecond, packet_without_id(i), 1);
        if (i < 10) {  // repeated 3 ms later, and seen by both taps
            stream.add(i * 10 * kMillisecond + 3 * kMillisecond, packet_without_id(i));
            stream.add(i * 10 * kMillisecond + 4 * kMillisecond, packet_without_id(i), 1);
        }
    }
    const Recommendation out = recommended(stream).recommendation;
    EXPECT_EQ(out.repeats, packet::Repeats::kKeep);
    EXPECT_EQ(out.removed.packets, 110U) << out.pcap_options << out.repeats_reason;
    EXPECT_EQ(out.same_port, std::nullopt);
}

TEST(Recommend, without_echoes_nothing_is_needed) {
    Stream stream;
    for (unsigned i = 0; i < 100; ++i) {
        stream.add(i * kMillisecond, sample_packet(i));
    }
    const Report report = recommended(stream);
    EXPECT_FALSE(report.recommendation.needed);
    EXPECT_EQ(report.recommendation.window, 50 * kMillisecond);
    EXPECT_EQ(report.recommendation.covered, 0);
    EXPECT_EQ(report.modes[1].recommended.lost, report.modes[1].rows[17].lost);
    EXPECT_EQ(kWindowBuckets[17], 50 * kMillisecond);
}

TEST(Recommend, rate_is_the_peak_of_new_packets_and_half_more) {
    Stream stream;
    for (unsigned i = 0; i < 2000; ++i) {  // 2000 in a millisecond, 1000 of them new
        stream.add(i * 500, sample_packet(i / 2));
    }
    stream.add(10 * kSecond, sample_packet(5000));
    const Recommendation out = recommended(stream).recommendation;
    EXPECT_EQ(out.rate, 1'600'000);  // from 63 in 62.5 us
    EXPECT_TRUE(says(out.rate_reason, "63 new packets in any 62.5 us, which is 1.01 Mpps"));
}

// 64 packets, a microsecond apart, fall within one generation of a filter of a millisecond.
TEST(Recommend, rate_counts_bursts_shorter_than_a_millisecond_in_full) {
    Stream stream;
    for (unsigned burst = 0; burst < 20; ++burst) {
        for (unsigned i = 0; i < 128; ++i) {
            const Nanoseconds copies = i < 64 ? 0 : 20 * kMicrosecond;
            stream.add(burst * 10 * kMillisecond + i * kMicrosecond + copies,
                       sample_packet(burst * 64 + i % 64));
        }
    }
    const Recommendation out = recommended(stream).recommendation;
    EXPECT_EQ(out.window, kMillisecond);
    EXPECT_GE(out.rate, 1.5 * 62 * 16'000);
    EXPECT_LE(out.rate, 2 * 64 * 16'000);
}

// Timestamps step back. Everything until the old time is reached again has one moment.
TEST(Recommend, rate_counts_what_comes_at_one_moment_in_full) {
    Stream stream;
    stream.add(kSecond, sample_packet(0));
    for (unsigned i = 0; i < 200; ++i) {
        stream.add(i * kMillisecond, sample_packet(i / 2));
    }
    EXPECT_GE(recommended(stream).recommendation.rate, 1.5 * 100 * 16'000);
}

TEST(Recommend, rate_stays_within_what_is_allowed_and_says_so) {
    Stream slow;
    slow.add(0, sample_packet(2));
    slow.add(kMillisecond, sample_packet(2));
    const Recommendation least = recommended(slow).recommendation;
    EXPECT_EQ(least.rate, 40'000);
    EXPECT_TRUE(
        says(least.rate_reason, "At most 1 new packet in any 125 us, which is 8 kpps; more"))
        << least.rate_reason;
    Stream slower;
    slower.add(0, sample_packet(2));
    slower.add(90 * kMillisecond, sample_packet(2));
    EXPECT_TRUE(says(recommended(slower).recommendation.rate_reason, "no rate below 1 kpps"));
    Stream fast;
    for (unsigned i = 0; i < 140'000; ++i) {
        fast.add(0, sample_packet(i / 2));
    }
    const Recommendation most = recommended(fast).recommendation;
    EXPECT_EQ(most.rate, 1e9);
    EXPECT_TRUE(says(most.rate_reason, "may pass as doubts")) << most.rate_reason;
}

// A repeat long after the window is inserted again as a new packet.
TEST(Recommend, rate_counts_what_is_accepted_again) {
    Stream stream;
    Nanoseconds now = 0;
    add_pairs(stream, now, kWithId, 100, kMicrosecond);
    for (unsigned i = 0; i < 100; ++i) {
        stream.add(100 * kSecond + i * kMicrosecond / 2, sample_packet(i));
    }
    const Recommendation out = recommended(stream).recommendation;
    ASSERT_EQ(out.window, kMillisecond);
    EXPECT_GE(out.rate, 1.4 * 100 * 16'000);
}

TEST(Recommend, rate_counts_echoes_where_policy_refresh_takes_them_in) {
    Stream stream;
    for (unsigned i = 0; i < 5000; ++i) {  // only four of them are new
        stream.add(i * 4 * kMicrosecond, sample_packet(2 + i % 4));
    }
    const Recommendation out = recommended(stream).recommendation;
    ASSERT_EQ(out.policy, engines::Policy::kRefresh);
    EXPECT_EQ(out.rate, 520'000);  // twice 16 in 62.5 us, because 16 are few
    EXPECT_TRUE(says(out.rate_reason, "At most 16 packets in any 62.5 us")) << out.rate_reason;
}

TEST(Recommend, several_interfaces_share_a_route_where_copies_cross) {
    Stream stream(2);
    stream.add(0, sample_packet(1), 0);
    stream.add(10, sample_packet(1), 1);
    EXPECT_TRUE(says(recommended(stream).recommendation.taps_reason, "one route from all"));
    Stream apart(2);
    apart.add(0, sample_packet(1), 0);
    apart.add(10, sample_packet(1), 0);
    apart.add(20, sample_packet(2), 1);
    EXPECT_TRUE(says(recommended(apart).recommendation.taps_reason, "a route of its own"));
}

// The window is between two window buckets, because 10 ms would drop repeats.
TEST(Recommend, window_lies_between_copies_and_what_was_sent_again) {
    Stream stream;
    Nanoseconds now = 0;
    add_pairs(stream, now, 2, 100, 6 * kMillisecond);
    add_pairs(stream, now, 0, 1, 9 * kMillisecond);  // without an ID
    const Report report = recommended(stream);
    const Recommendation& out = report.recommendation;
    EXPECT_EQ(out.window, 7 * kMillisecond);
    EXPECT_EQ(out.policy, engines::Policy::kFixed);
    EXPECT_EQ(out.removed.packets, 100U);
    EXPECT_TRUE(says(out.sure_reason, "the gap is narrow")) << out.sure_reason;
    // The next window bucket, and what it would lose.
    EXPECT_EQ(report.modes[0].recommended.window, 10 * kMillisecond);
    EXPECT_EQ(report.modes[0].recommended.dropped.packets, 101U);
    EXPECT_EQ(report.modes[0].recommended.lost.packets, 1U);
}

// A cycle is shorter than any window, and each frame is shown twice. Second looks separate what no
// window can. No port shows a packet more than twice.
TEST(Recommend, frames_of_a_short_cycle_are_compared) {
    for (const unsigned contents : {1U, 2U}) {  // in a cycle, 250 us each
        Stream stream;
        for (unsigned i = 0; i < 60; ++i) {
            const Nanoseconds at = i * 250 * kMicrosecond;
            const Nanoseconds late = (20 + i % 20) * kMicrosecond;
            const test::Bytes frame =
                test::build_ethernet(0x88A4, test::counting(46 + i % contents));
            const test::PacketSpec packet = sample_packet(static_cast<std::uint16_t>(kWithId + i));
            stream.add(at, frame);
            stream.add(at + late, frame);
            stream.add(at + 50 * kMicrosecond, packet);
            stream.add(at + 50 * kMicrosecond + late, packet);
        }
        const Report report = recommended(stream);
        ASSERT_EQ(report.copied.packets, 120U);
        const Recommendation& out = report.recommendation;
        EXPECT_EQ(out.non_ip, packet::NonIp::kFrame);
        EXPECT_EQ(out.window, kMillisecond);
        EXPECT_EQ(out.repeats, packet::Repeats::kKeep);
        EXPECT_EQ(out.removed_copies.packets, 120U);
        EXPECT_EQ(out.views, 2U);
    }
}

// Frames are copied, but too soon before others that are repeats, so they are not compared. They
// say nothing about the packets.
TEST(Recommend, copies_that_are_not_compared_count_nowhere) {
    const auto arp = [](std::uint8_t number) {
        test::Bytes body = test::counting(46);
        body[20] = number;
        return test::build_ethernet(0x0806, body);
    };
    Stream stream;
    Nanoseconds now = 0;
    add_pairs(stream, now, 2, 100, 6 * kMillisecond);
    for (const Nanoseconds age : {6 * kMillisecond, 9 * kMillisecond}) {
        stream.add(now, arp(static_cast<std::uint8_t>(age / kMillisecond)));
        stream.add(now + age, arp(static_cast<std::uint8_t>(age / kMillisecond)));
        now += kSecond;
    }
    const Report report = recommended(stream);
    ASSERT_EQ(report.non_ip_copied.packets, 1U);
    ASSERT_EQ(report.copied.packets, 101U);
    const Recommendation& out = report.recommendation;
    EXPECT_EQ(out.non_ip, packet::NonIp::kPass);
    EXPECT_EQ(out.window, 10 * kMillisecond);
    EXPECT_EQ(out.removed.packets, 100U);
    EXPECT_TRUE(says(out.sure_reason, "100 copied packets up to 6 ms")) << out.sure_reason;
}

// Two interfaces saw the frames. A packet was repeated sooner, and is kept where it was seen
// before.
TEST(Recommend, frames_are_compared_though_packets_were_sent_again_sooner) {
    Stream stream(2);
    for (std::uint8_t i = 0; i < 20; ++i) {
        test::Bytes body = test::counting(46);
        body[20] = i;
        stream.add(i * kSecond, test::build_ethernet(0x0806, body), 0);
        stream.add(i * kSecond + 6 * kMillisecond, test::build_ethernet(0x0806, body), 1);
    }
    stream.add(50 * kSecond, sample_packet(0));  // without an ID
    stream.add(50 * kSecond + 3 * kMillisecond, sample_packet(0));
    const Report report = recommended(stream);
    ASSERT_EQ(report.non_ip_copied.packets, 20U);
    ASSERT_EQ(report.copied.packets, 20U);
    ASSERT_EQ(report.sent_again.packets, 1U);
    const Recommendation& out = report.recommendation;
    EXPECT_EQ(out.non_ip, packet::NonIp::kFrame);
    EXPECT_TRUE(out.needed);
    EXPECT_EQ(out.repeats, packet::Repeats::kKeep);
    EXPECT_EQ(out.removed.packets, 20U) << out.pcap_options;
}

TEST(Recommend, what_came_exactly_twice_is_doubted) {
    Stream stream;
    for (unsigned i = 0; i < 40; ++i) {
        test::PacketSpec spec = sample_packet(0);
        spec.payload[0] = static_cast<std::uint8_t>(i);
        spec.protocol = 17;
        stream.add(i * kSecond, spec);
        stream.add(i * kSecond + 60 * kMillisecond, spec);
    }
    const Recommendation out = recommended(stream).recommendation;
    EXPECT_FALSE(out.needed);
    EXPECT_TRUE(says(out.sure_reason, "40 packets were there again within 60 ms"))
        << out.sure_reason;
}

TEST(Recommend, storm_of_frames_may_be_a_loop) {
    Stream stream;
    const test::Bytes arp = test::build_ethernet(0x0806, test::counting(46));
    for (unsigned i = 0; i < 500; ++i) {
        stream.add(i * 50 * kMicrosecond, arp);
    }
    const Recommendation out = recommended(stream).recommendation;
    EXPECT_FALSE(out.needed);
    EXPECT_TRUE(says(out.sure_reason, "a flood, or a loop")) << out.sure_reason;
}

TEST(Recommend, packets_of_one_time_are_warned_of) {
    Stream stream;
    stream.add(kSecond, sample_packet(2));
    EXPECT_TRUE(recommended(stream).warnings.empty());
    stream.add(kSecond, sample_packet(2));
    const Report report = recommended(stream);
    ASSERT_EQ(report.warnings.size(), 1U);
    EXPECT_TRUE(says(report.warnings[0].text, "all packets have the same time"));
}

TEST(Recommend, engine_is_told_with_its_memory) {
    Stream stream;
    Nanoseconds now = 0;
    add_pairs(stream, now, kWithId, 10, kMillisecond);
    const Recommendation out = recommended(stream).recommendation;
    EXPECT_EQ(out.engine, engines::Engine::kAuto);
    EXPECT_FALSE(out.engine_chosen.empty());
    EXPECT_GT(out.memory, 0U);
}

}  // namespace
}  // namespace unecho::analyze
