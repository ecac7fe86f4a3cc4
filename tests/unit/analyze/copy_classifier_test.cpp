// SPDX-License-Identifier: BSD-3-Clause
// Packets pass through the collector, which must tell copies from repeats.
#include "captures/analyze/classify/copy_classifier.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "captures/analyze/collect/dissect.h"
#include "dedup/engines/non_ip_types.h"
#include "stream.h"

namespace unecho::analyze {
namespace {

test::PacketSpec packet_with(std::uint16_t id, std::uint8_t content = 0) {
    test::PacketSpec spec;
    spec.id = id;
    spec.payload = test::counting(30);
    spec.payload[0] = content;
    return spec;
}

test::PacketSpec packet6(std::uint8_t content) {
    test::PacketSpec spec = packet_with(0, content);
    spec.version = 6;
    return spec;
}

Count packets_of(const Count& count) {
    return {count.packets, 0};
}

void expect_sorted(const Stream& stream, std::uint64_t copies, std::uint64_t again) {
    const Report report = stream.report();
    EXPECT_EQ(packets_of(report.copied), (Count{copies, 0}));
    EXPECT_EQ(packets_of(report.sent_again), (Count{again, 0}));
}

TEST(CopyClassifier, packet_with_an_id_is_a_copy_until_no_path_takes_so_long) {
    for (const Nanoseconds age : {Nanoseconds{0}, kMillisecond, 90 * kMillisecond}) {
        Stream stream;
        stream.add(0, packet_with(7));
        stream.add(age, packet_with(7));
        expect_sorted(stream, 1, 0);
    }
    // A single packet that took a detour decides nothing.
    for (const std::uint8_t packets : {std::uint8_t{1}, std::uint8_t{4}, std::uint8_t{5}}) {
        for (const Nanoseconds age : {kMaxPathDelay - 1, kMaxPathDelay}) {
            Stream stream;
            for (std::uint8_t i = 0; i < packets; ++i) {
                stream.add(i * kSecond, packet_with(7 + i, i));
                stream.add(i * kSecond + age, packet_with(7 + i, i));
            }
            const bool copies = packets == 5 && age < kMaxPathDelay;
            expect_sorted(stream, copies ? packets : 0U, copies ? 0U : packets);
        }
    }
}

// A mirror shows each packet 15 us later. Packets of equal content follow 20 us to 100 ms later,
// each of them mirrored too, so no gap separates copies from repeats.
TEST(CopyClassifier, copies_end_where_third_looks_become_many) {
    Stream stream;
    for (unsigned i = 0; i < 400; ++i) {
        test::PacketSpec spec = packet6(static_cast<std::uint8_t>(i));
        spec.payload = test::counting(20 + i);
        const Nanoseconds at = i * kSecond;
        stream.add(at, spec);
        stream.add(at + 15 * kMicrosecond, spec);
        if (i % 4 == 0) {
            Nanoseconds again = 40 * kMicrosecond;
            for (unsigned n = 0; n < i / 4 % 12; ++n) {
                again *= 2;
            }
            stream.add(at + again, spec);
            stream.add(at + again + 15 * kMicrosecond, spec);
        }
    }
    expect_sorted(stream, 500, 100);
}

TEST(CopyClassifier, few_looks_decide_nothing) {
    for (const std::uint8_t packets : {std::uint8_t{4}, std::uint8_t{5}}) {
        Stream stream;
        for (std::uint8_t i = 0; i < packets; ++i) {
            stream.add(i * kSecond, packet6(i));
            stream.add(i * kSecond + 5 * kMicrosecond, packet6(i));
        }
        expect_sorted(stream, packets == 5 ? 5 : 0, packets == 5 ? 0 : 4);
    }
}

TEST(CopyClassifier, id_that_a_sender_writes_into_everything_does_not_count) {
    for (const std::uint16_t step : {0, 1}) {
        Stream stream;
        for (std::uint8_t i = 0; i < 50; ++i) {
            const auto id = static_cast<std::uint16_t>(4660 + i * step);
            stream.add(i * 15 * kMillisecond, packet_with(id, i));
        }
        const auto last = static_cast<std::uint16_t>(4660 + 49 * step);
        stream.add(750 * kMillisecond, packet_with(last, 49));
        expect_sorted(stream, step, 1U - step);
    }
}

// Two taps, the second with its clock ahead: copies, although no path takes so long.
TEST(CopyClassifier, taps_whose_clocks_differ_hold_copies) {
    for (const std::uint8_t shared : {std::uint8_t{9}, std::uint8_t{10}, std::uint8_t{40}}) {
        Stream stream(2);
        for (std::uint8_t i = 0; i < 40; ++i) {
            stream.add(i * 20 * kMillisecond, packet_with(7, i), 0);
        }
        for (std::uint8_t i = 0; i < shared; ++i) {
            stream.add(kSecond + i * 20 * kMillisecond + i * 10 * kMicrosecond, packet_with(7, i),
                       1);
        }
        const bool enough = shared >= 10;
        expect_sorted(stream, enough ? shared : 0, enough ? 0 : shared);
        const Report report = stream.report();
        ASSERT_EQ(report.clock_shifts.size(), enough ? 1U : 0U);
        if (enough) {
            const ClockShift& one = report.clock_shifts[0];
            EXPECT_EQ(one.original, 0U);
            EXPECT_EQ(one.echo, 1U);
            EXPECT_EQ(one.packets, shared);
            EXPECT_GE(one.age, kSecond);
            EXPECT_LE(one.age, kSecond + shared * 10 * kMicrosecond);
        }
    }
}

// The first tap shows each packet twice, so the packet at the second is the third of its key.
TEST(CopyClassifier, clocks_differ_though_one_tap_shows_packets_twice) {
    Stream stream(2);
    for (std::uint8_t i = 0; i < 40; ++i) {
        stream.add(i * 20 * kMillisecond, packet_with(100 + i, i), 0);
        stream.add(i * 20 * kMillisecond + 5 * kMicrosecond, packet_with(100 + i, i), 0);
    }
    for (std::uint8_t i = 0; i < 40; ++i) {
        stream.add(kSecond + i * 20 * kMillisecond, packet_with(100 + i, i), 1);
    }
    expect_sorted(stream, 80, 0);
    EXPECT_EQ(stream.report().clock_shifts.size(), 1U);
}

// Ten pairs have about one age, the others are older. More than a quarter of these refute a shift.
TEST(CopyClassifier, what_is_of_any_age_tells_of_no_clock) {
    for (const std::uint8_t others : {std::uint8_t{3}, std::uint8_t{4}}) {
        Stream stream(2);
        for (std::uint8_t i = 0; i < 40; ++i) {
            stream.add(i * 20 * kMillisecond, packet_with(7, i), 0);
        }
        for (std::uint8_t i = 0; i < 10 + others; ++i) {
            const Nanoseconds age = i < 10 ? kSecond : 4 * kSecond;
            stream.add(age + i * 20 * kMillisecond, packet_with(7, i), 1);
        }
        expect_sorted(stream, others == 3 ? 10 : 0, others == 3 ? 3 : 14);
        EXPECT_EQ(stream.report().clock_shifts.size(), others == 3 ? 1U : 0U);
    }
}

// A hello at both interfaces, again and again, as in a capture cut in two, proves no clock shift.
TEST(CopyClassifier, what_comes_again_and_again_tells_of_no_clock) {
    Stream stream(2);
    for (unsigned i = 0; i < 40; ++i) {
        stream.add(i * kSecond, packet6(1), i < 20 ? 0 : 1);
    }
    expect_sorted(stream, 0, 39);
    EXPECT_TRUE(stream.report().clock_shifts.empty());
}

// Resets without data or ID answer one segment each: they are no copies merely because others are.
TEST(CopyClassifier, answers_are_copies_only_as_long_as_others_are) {
    Stream stream;
    test::PacketSpec segment = packet6(0);
    segment.protocol = 6;
    for (std::uint8_t i = 0; i < 60; ++i) {
        segment.payload[0] = i;
        stream.add(i * 10 * kMillisecond, segment);
        stream.add(i * 10 * kMillisecond + 20 * kMicrosecond, segment);
    }
    test::PacketSpec reset = segment;
    reset.payload.clear();
    for (unsigned i = 0; i < 3; ++i) {
        stream.add(kSecond + i * 8 * kMillisecond, reset);
    }
    expect_sorted(stream, 60, 2);
}

// Invalid timestamps are centuries apart, up to the end of the clock's range.
TEST(CopyClassifier, garbage_of_times_leaves_ages) {
    Stream stream;
    for (unsigned i = 0; i < 200; ++i) {
        stream.add(i % 2 == 0 ? kSecond : 100 * 365 * Nanoseconds{86'400} * kSecond, packet6(1));
    }
    stream.add(10 * kSecond, packet_with(7));
    stream.add(11 * kSecond, packet_with(7));
    const Report report = stream.report();
    ASSERT_EQ(report.kinds_sent_again.size(), 2U);
    EXPECT_EQ(report.kinds_sent_again[1].youngest, kSecond);
}

TEST(CopyClassifier, capture_that_was_appended_to_itself_holds_copies) {
    for (const unsigned begin : {0U, 30U}) {
        Stream stream;
        for (unsigned i = 0; i < 40; ++i) {
            stream.add(kSecond + i * kSecond, packet_with(100 + i, i));
        }
        for (unsigned i = begin; i < 40; ++i) {
            stream.add(kSecond + i * kSecond, packet_with(100 + i, i));
        }
        // A step back shorter than half of the capture proves nothing.
        expect_sorted(stream, begin == 0 ? 40 : 0, begin == 0 ? 0 : 10);
        EXPECT_EQ(stream.report().appended.packets, begin == 0 ? 40U : 0U);
    }
}

TEST(CopyClassifier, without_an_id_an_unchanged_packet_needs_company) {
    Stream alone;
    for (std::uint8_t i = 0; i < 40; ++i) {
        alone.add(i * kSecond, packet6(i));
    }
    alone.add(39 * kSecond + 20 * kMicrosecond, packet6(39));
    expect_sorted(alone, 0, 1);
    Stream mirrored;
    for (std::uint8_t i = 0; i < 40; ++i) {
        mirrored.add(i * kSecond, packet_with(100 + i, i));
        mirrored.add(i * kSecond + 30 * kMicrosecond, packet_with(100 + i, i));
    }
    mirrored.add(50 * kSecond, packet6(1));
    mirrored.add(50 * kSecond + 20 * kMicrosecond, packet6(1));
    expect_sorted(mirrored, 41, 0);
    Stream all;
    for (std::uint8_t i = 0; i < 40; ++i) {
        all.add(i * kSecond, packet6(i));
        all.add(i * kSecond + 20 * kMicrosecond, packet6(i));
    }
    expect_sorted(all, 40, 0);
}

TEST(CopyClassifier, seen_at_another_place_is_a_copy) {
    Stream other(2);
    other.add(0, packet6(1), 0);
    other.add(5 * kMillisecond, packet6(1), 1);
    expect_sorted(other, 1, 0);
    Stream routed;
    test::PacketSpec behind = packet6(1);
    --behind.ttl;
    behind.source_mac[5] ^= 1;
    routed.add(0, packet6(1));
    routed.add(5 * kMillisecond, behind);
    expect_sorted(routed, 1, 0);
}

// Ten of 40 different packets occur twice: each once more, or one of them ten times more.
TEST(CopyClassifier, mirror_shows_each_packet_as_often) {
    for (const bool one : {false, true}) {
        Stream stream;
        for (std::uint8_t i = 0; i < 40; ++i) {
            stream.add(i * kSecond, packet6(i));
            for (unsigned n = 1; n <= (one ? 10U : 1U) && i < (one ? 1 : 10); ++n) {
                stream.add(i * kSecond + n * 20 * kMicrosecond, packet6(i));
            }
        }
        expect_sorted(stream, one ? 0 : 10, one ? 10 : 0);
    }
}

// A mirror shows the packets of one sender. Its peer repeats some packets within microseconds. The
// mirror shows none of the peer's packets with IDs, so these are none of its copies.
TEST(CopyClassifier, mirror_of_one_sender_shows_no_packet_of_another) {
    Stream stream;
    for (std::uint8_t i = 0; i < 60; ++i) {
        const Nanoseconds at = i * 10 * kMillisecond;
        test::PacketSpec back = packet_with(300 + i, i);
        test::PacketSpec answer = packet6(i);
        answer.protocol = 6;
        answer.payload.clear();
        answer.source_port = 2000 + i;
        for (test::PacketSpec* one : {&back, &answer}) {
            std::swap(one->source_mac, one->destination_mac);
        }
        for (const test::PacketSpec& shown : {packet_with(100 + i, i), packet6(i)}) {
            stream.add(at, shown);
            stream.add(at + 4 * kMicrosecond, shown);
        }
        stream.add(at + kMillisecond, back);
        stream.add(at + 2 * kMillisecond, answer);
        if (i < 24) {
            stream.add(at + 2 * kMillisecond + 4 * kMicrosecond, answer);
        }
    }
    expect_sorted(stream, 120, 24);
}

// Three equal ACKs request a lost segment, as often as segments are lost.
TEST(CopyClassifier, acks_said_three_times_are_of_no_mirror) {
    Stream stream;
    for (unsigned i = 0; i < 300; ++i) {
        test::PacketSpec segment = packet6(static_cast<std::uint8_t>(i));
        segment.protocol = 6;
        segment.source_port = static_cast<std::uint16_t>(2000 + i);
        test::PacketSpec answer = segment;
        answer.payload.clear();
        std::swap(answer.source_mac, answer.destination_mac);
        const Nanoseconds at = i * 10 * kMillisecond;
        stream.add(at, segment);
        for (unsigned n = 0; n < (i % 12 == 0 ? 3U : 1U); ++n) {
            stream.add(at + kMillisecond + n * 300 * kMicrosecond, answer);
        }
    }
    expect_sorted(stream, 0, 50);
}

// The gap begins after the bin of the copies.
TEST(CopyClassifier, gap_of_a_factor_of_four_ends_the_copies) {
    const unsigned late = age_bin(120 * kMillisecond);
    for (const unsigned bins : {5U, 6U}) {
        Stream stream;
        for (std::uint8_t i = 0; i < 40; ++i) {
            stream.add(i * kSecond, packet_with(100 + i, i));
            const Nanoseconds age = i == 39 ? 120 * kMillisecond : age_bin_low(late - 1 - bins);
            stream.add(i * kSecond + age, packet_with(100 + i, i));
        }
        expect_sorted(stream, bins == 6 ? 39 : 40, bins == 6 ? 1 : 0);
    }
}

// Both paths have copies, unless all but one in twenty took the first.
TEST(CopyClassifier, gap_behind_too_few_ends_no_copies) {
    for (const unsigned early : {37U, 38U}) {
        Stream stream;
        for (std::uint8_t i = 0; i < 40; ++i) {
            stream.add(i * kSecond, packet_with(100 + i, i));
            const Nanoseconds age = i < early ? kMillisecond : 120 * kMillisecond;
            stream.add(i * kSecond + age, packet_with(100 + i, i));
        }
        expect_sorted(stream, early == 38 ? 38 : 40, early == 38 ? 2 : 0);
    }
}

TEST(CopyClassifier, ids_of_0_and_1_count_nothing) {
    for (const std::uint16_t id : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{2}}) {
        Stream stream;
        for (std::uint8_t i = 0; i < 40; ++i) {
            stream.add(i * kSecond, packet6(i));
        }
        stream.add(50 * kSecond, packet_with(id));
        stream.add(50 * kSecond + 20 * kMicrosecond, packet_with(id));
        expect_sorted(stream, id == 2 ? 1 : 0, id == 2 ? 0 : 1);
    }
}

TEST(CopyClassifier, period_is_regular_where_three_quarters_have_it) {
    for (const unsigned hellos : {3U, 4U}) {
        Stream stream;
        for (unsigned i = 0; i < hellos; ++i) {
            stream.add(i * 10 * kSecond, packet6(1));
        }
        stream.add(200 * kSecond, packet6(1));
        const Report report = stream.report();
        ASSERT_EQ(report.kinds_sent_again.size(), 1U);
        EXPECT_EQ(report.kinds_sent_again[0].period, 10 * kSecond);
        EXPECT_EQ(report.kinds_sent_again[0].regular, hellos == 4);
    }
}

TEST(CopyClassifier, tell_their_memory) {
    CopyClassifier sorter;
    const std::uint64_t empty = sorter.bytes();
    sorter.add({}, {});
    sorter.add({}, {});
    EXPECT_GT(sorter.bytes(), empty + kAgeBins);
    const std::uint64_t one = sorter.bytes();
    for (unsigned i = 0; i < 1000; ++i) {
        PacketKind kind;
        kind.detail = static_cast<std::uint16_t>(i);
        sorter.add(kind, {});
    }
    EXPECT_LE(sorter.bytes() - empty, 257 * (one - empty));
    EXPECT_LT(sorter.bytes(), CopyClassifier::most_bytes(UINT64_MAX));
    for (std::uint64_t population = 0; population < 1000; ++population) {
        Echo echo;
        echo.population = population;
        sorter.add({}, echo);
    }
    EXPECT_LT(sorter.bytes(), CopyClassifier::most_bytes(UINT64_MAX));
    for (std::uint16_t i = 0; i < 300; ++i) {
        Echo crossed;
        crossed.age = kMaxPathDelay;
        crossed.interface = static_cast<std::uint16_t>(i + 1);
        crossed.few = true;
        crossed.moved = true;
        sorter.add({}, crossed);
    }
    EXPECT_LE(sorter.bytes(), CopyClassifier::most_bytes(UINT64_MAX));
}

TEST(PacketKind, of_what_is_not_ip_is_the_type_behind_any_tag) {
    for (const std::uint8_t tag : {0x81, 0x88, 0x91, 0x92}) {
        std::array<std::uint8_t, 60> bytes{};
        bytes[12] = tag;
        bytes[13] = tag == 0x88 ? 0xA8 : 0;
        bytes[16] = 0x08;
        bytes[17] = 0x06;
        const PacketKind kind = kind_of_frame(
            packet::LinkType::kEthernet,
            packet::non_ip_frame(packet::LinkType::kEthernet, bytes.data(), bytes.size()));
        EXPECT_EQ(kind_name(kind.label()), "ARP") << unsigned{tag};
    }
}

TEST(PacketKind, of_802_11_is_the_ethertype_or_the_type_of_the_frame) {
    std::array<std::uint8_t, 40> bytes{};
    const auto name_of = [&](std::uint8_t control) {
        bytes[0] = control;
        return kind_name(
            kind_of_frame(packet::LinkType::kWifi,
                          packet::non_ip_frame(packet::LinkType::kWifi, bytes.data(), bytes.size()))
                .label());
    };
    EXPECT_EQ(name_of(0x80), "802.11 management");
    EXPECT_EQ(name_of(0xD4), "802.11 control");
    EXPECT_EQ(name_of(0x48), "802.11 data");
    constexpr std::array<std::uint8_t, 8> kSnap{0xAA, 0xAA, 3, 0, 0, 0, 0x88, 0x8E};
    std::copy(kSnap.begin(), kSnap.end(), bytes.begin() + 24);
    EXPECT_EQ(name_of(0x08), "EAPOL");
}

// Every type, on link types where a small value is a length and where it is not.
TEST(PacketKind, of_what_is_not_ip_is_named_as_unecho_pcap_names_it) {
    constexpr std::size_t kTypeOnEthernet = 12;
    constexpr std::size_t kTypeOnSll = 14;
    for (const auto& [link, at] : {std::pair(packet::LinkType::kEthernet, kTypeOnEthernet),
                                   std::pair(packet::LinkType::kSll, kTypeOnSll)}) {
        std::array<std::uint8_t, 64> bytes{};
        unsigned named = 0;
        for (unsigned type = 0; type <= UINT16_MAX; ++type) {
            bytes[at] = static_cast<std::uint8_t>(type >> 8U);
            bytes[at + 1] = static_cast<std::uint8_t>(type);
            const packet::Frame frame{bytes.data(), bytes.size()};
            if (packet::parse_frame(link, frame).found != packet::L3Type::kNonIp) {
                continue;
            }
            engines::NonIpTypeCounter types;
            types.add(link, frame);
            const engines::NonIpTypeCount one = types.most_first().front();
            const bool number_tells = one.name.empty() && one.type == "802.3";
            const std::string expected = !one.name.empty() ? one.name
                                         : number_tells    ? one.type
                                                           : "EtherType " + one.type;
            const PacketKind kind =
                kind_of_frame(link, packet::non_ip_frame(link, frame.data, frame.length));
            ASSERT_EQ(kind_name(kind.label()), expected) << type;
            named += one.name.empty() ? 0 : 1;
        }
        EXPECT_GT(named, 35U);
    }
}

// Without other evidence a packet older than all copies is no copy, even if it is in their bin.
TEST(CopyClassifier, unsure_one_is_a_copy_up_to_the_oldest_copy) {
    ASSERT_EQ(age_bin(5 * kMillisecond), age_bin(6 * kMillisecond));
    for (const Nanoseconds age : {5 * kMillisecond, 5 * kMillisecond + 1, 6 * kMillisecond}) {
        Stream stream;
        for (std::uint8_t i = 0; i < 40; ++i) {
            stream.add(i * kSecond, packet_with(100 + i, i));
            stream.add(i * kSecond + 5 * kMillisecond, packet_with(100 + i, i));
        }
        const test::Bytes arp = test::build_ethernet(0x0806, test::counting(46));
        stream.add(50 * kSecond, packet6(1));
        stream.add(50 * kSecond + age, packet6(1));
        stream.add(60 * kSecond, arp);
        stream.add(60 * kSecond + age, arp);
        const bool copy = age == 5 * kMillisecond;
        expect_sorted(stream, copy ? 42 : 40, copy ? 0 : 2);
    }
}

// Each 802.11 frame is retransmitted a millisecond later with the retry bit, and a second radio
// hears each 20 us later. The packets have IDs that count, so only the bit tells the two apart.
TEST(CopyClassifier, what_is_sent_again_on_the_air_is_no_copy) {
    constexpr std::uint16_t kWifi = 105;
    for (const bool second_radio : {false, true}) {
        Stream stream(1, kWifi);
        for (std::uint16_t i = 0; i < 50; ++i) {
            test::Bytes frame{0x08, 0x01, 0, 0};
            frame.resize(22, 5);
            frame.insert(frame.end(),
                         {static_cast<std::uint8_t>(i << 4), static_cast<std::uint8_t>(i >> 4),
                          0xAA, 0xAA, 3, 0, 0, 0, 8, 0});
            const test::Bytes ip = test::build_ip(packet_with(static_cast<std::uint16_t>(100 + i)));
            frame.insert(frame.end(), ip.begin(), ip.end());
            stream.add(i * kSecond, frame);
            if (second_radio) {
                stream.add(i * kSecond + 20 * kMicrosecond, frame);
            }
            frame[1] |= 0x08;
            stream.add(i * kSecond + kMillisecond, frame);
        }
        expect_sorted(stream, second_radio ? 50 : 0, 50);
        const Report report = stream.report();
        EXPECT_EQ(report.causes[static_cast<std::size_t>(Cause::kResent)].echoes.packets, 50U);
    }
}

// Return an 802.11 frame with an EtherType and without an IP packet.
test::Bytes arp_sent_again_on_the_air(std::uint8_t number) {
    test::Bytes frame{0x08, 0x09, 0, 0};
    frame.resize(22, 5);
    frame.insert(frame.end(),
                 {static_cast<std::uint8_t>(number << 4U), static_cast<std::uint8_t>(number >> 4U),
                  0xAA, 0xAA, 3, 0, 0, 0, 8, 6, number});
    frame.resize(60, 7);
    return frame;
}

// The second and third attempt are equal, but no radio hears one transmission twice.
TEST(CopyClassifier, a_third_attempt_on_the_air_is_no_copy_of_the_second) {
    constexpr std::uint16_t kWifi = 105;
    Stream stream(1, kWifi);
    for (std::uint8_t i = 0; i < 50; ++i) {
        const test::Bytes frame = arp_sent_again_on_the_air(i);
        stream.add(i * kSecond, frame);
        stream.add(i * kSecond + 300 * kMicrosecond, frame);
    }
    expect_sorted(stream, 0, 50);
}

TEST(CopyClassifier, kinds_have_names_and_periods) {
    Stream stream;
    test::PacketSpec mdns = packet6(1);
    mdns.source_port = mdns.destination_port = 5353;
    for (unsigned i = 0; i < 9; ++i) {
        stream.add(i * 10 * kSecond, mdns);
    }
    stream.add(100 * kSecond, packet6(2));
    stream.add(101 * kSecond, packet6(2));
    const Report report = stream.report();
    ASSERT_EQ(report.kinds_sent_again.size(), 2U);
    EXPECT_EQ(report.kinds_sent_again[0].protocol, "IPv6 UDP (mDNS)");
    EXPECT_EQ(report.kinds_sent_again[0].period, 10 * kSecond);
    EXPECT_TRUE(report.kinds_sent_again[0].regular);
    EXPECT_EQ(report.kinds_sent_again[1].protocol, "IPv6 UDP");
    EXPECT_FALSE(report.kinds_sent_again[1].regular);
    EXPECT_EQ(report.youngest_sent_again, kSecond);
}

TEST(CopyClassifier, packet_with_an_id_that_is_sent_again_has_its_kind) {
    Stream stream;
    test::PacketSpec segment = packet_with(100);
    segment.protocol = 6;
    stream.add(0, segment);
    stream.add(kSecond, segment);
    const Report report = stream.report();
    ASSERT_EQ(report.kinds_sent_again.size(), 1U);
    EXPECT_EQ(report.kinds_sent_again[0].protocol, "IPv4 TCP data");
}

}  // namespace
}  // namespace unecho::analyze
