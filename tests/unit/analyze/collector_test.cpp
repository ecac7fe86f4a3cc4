// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/collect/collector.h"

#include <array>
#include <map>
#include <optional>
#include <random>
#include <unordered_map>

#include <gtest/gtest.h>

#include "stream.h"

namespace unecho::analyze {
namespace {

using packet::KeyMode;
using test::PacketSpec;

PacketSpec packet_number(std::uint16_t id) {
    PacketSpec spec;
    spec.id = id;
    spec.payload = test::counting(30);
    return spec;
}

PacketSpec segment(std::uint16_t id) {
    PacketSpec spec = packet_number(id);
    spec.protocol = 6;
    return spec;
}

std::uint64_t echoes_with(const Report& report, Cause cause) {
    return report.causes[static_cast<std::size_t>(cause)].echoes.packets;
}

TEST(Collector, empty_capture_has_an_empty_report) {
    const Report report = Stream().report();
    EXPECT_EQ(report.total.packets, 0U);
    EXPECT_TRUE(report.ages.bins.empty());
    EXPECT_EQ(report.windows.size(), kWindows);
    EXPECT_EQ(report.modes[3].rows.size(), kWindows);
    EXPECT_FALSE(report.blind_after);
}

TEST(Collector, echo_is_counted_wherever_it_belongs) {
    Stream stream(2);
    PacketSpec copy = packet_number(1);
    --copy.ttl;
    copy.source_mac[5] = 9;
    stream.add(kSecond, packet_number(1), 0);
    stream.add(kSecond + 50, packet_number(2), 0);
    stream.add(kSecond + 3 * kMicrosecond, copy, 1);
    const Report report = stream.report();
    const std::uint64_t length = stream.records()[0].length;
    EXPECT_EQ(report.total, (Count{3, 3 * length}));
    EXPECT_EQ(report.echoes, (Count{1, length}));
    EXPECT_EQ(report.keyed.packets, 3U);
    EXPECT_EQ(report.keys, 2U);
    EXPECT_EQ(report.key_times[0], 1U);
    EXPECT_EQ(report.key_times[1], 1U);
    EXPECT_EQ(report.first_time, kSecond);
    EXPECT_EQ(report.last_time, kSecond + 3 * kMicrosecond);
    EXPECT_EQ(echoes_with(report, Cause::kRouted), 1U);
    EXPECT_EQ(report.ages.youngest, 3 * kMicrosecond);
    EXPECT_EQ(report.interfaces[0].echoes.packets, 0U);
    EXPECT_EQ(report.interfaces[1].echoes.packets, 1U);
    ASSERT_EQ(report.crossings.size(), 1U);
    EXPECT_EQ(report.crossings[0].original, 0U);
    EXPECT_EQ(report.crossings[0].echo, 1U);
    ASSERT_EQ(report.protocols.size(), 1U);
    EXPECT_EQ(report.protocols[0].name, "IPv4 UDP");
    EXPECT_EQ(report.protocols[0].echoes.packets, 1U);
    ASSERT_EQ(report.talkers.size(), 1U);
    EXPECT_EQ(report.talkers[0].source, "10.0.0.1");
    ASSERT_EQ(report.time.size(), 1U);
    EXPECT_EQ(report.time[0].echoes.packets, 1U);
}

TEST(Collector, age_is_that_since_the_last_copy_and_windows_are_half_open) {
    Stream stream;
    stream.add(0, packet_number(2));
    stream.add(kMicrosecond, packet_number(2));
    stream.add(3 * kMicrosecond, packet_number(2));
    const Report report = stream.report();
    EXPECT_EQ(report.ages.youngest, kMicrosecond);
    EXPECT_EQ(report.ages.oldest, 2 * kMicrosecond);
    std::map<std::uint64_t, WindowRow> rows;
    for (const WindowRow& row : report.windows) {
        rows[row.window.value_or(0)] = row;
    }
    EXPECT_EQ(rows[kMicrosecond].fixed.packets, 0U);      // an age equal to the window is outside
    EXPECT_EQ(rows[2 * kMicrosecond].fixed.packets, 1U);  // 3 us after the first packet
    EXPECT_EQ(rows[2 * kMicrosecond].refresh.packets, 1U);
    EXPECT_EQ(rows[5 * kMicrosecond].fixed.packets, 2U);
    EXPECT_EQ(rows[0].refresh.packets, 2U);
}

TEST(Collector, time_that_steps_back_stands_still) {
    Stream stream;
    stream.add(kSecond, packet_number(1));
    stream.add(kSecond - 5, packet_number(1));
    const Report report = stream.report();
    EXPECT_EQ(report.ages.oldest, 0U);
    EXPECT_EQ(report.windows[0].fixed.packets, 1U);
    EXPECT_EQ(report.last_time, kSecond);
}

TEST(Collector, segment_sent_again_looks_alike_and_is_no_echo) {
    Stream stream;
    stream.add(0, segment(1));
    stream.add(kMillisecond, segment(2));
    PacketSpec other = segment(3);
    other.payload.back() ^= 1;
    stream.add(2 * kMillisecond, other);
    PacketSpec back = segment(4);
    std::swap(back.source_port, back.destination_port);
    stream.add(3 * kMillisecond, back);
    stream.add(4 * kMillisecond, segment(2));  // an echo, and nothing else
    const Report report = stream.report();
    EXPECT_EQ(report.echoes.packets, 1U);
    EXPECT_EQ(report.look_alikes.segments.packets, 1U);
    EXPECT_EQ(report.look_alikes.compared, 4U);
    ASSERT_EQ(report.look_alikes.ages.size(), 1U);
    EXPECT_LE(report.look_alikes.ages[0].low, kMillisecond);
    EXPECT_GT(report.look_alikes.ages[0].high, kMillisecond);
}

TEST(Collector, frames_without_a_packet_are_counted_and_frame_mode_would_lose_them) {
    Stream stream;
    const test::Bytes arp = test::build_ethernet(0x0806, test::counting(46));
    stream.add(0, arp);
    stream.add(kSecond, arp);
    stream.add(2 * kSecond, test::Bytes{1, 2, 3});
    const Report report = stream.report();
    EXPECT_EQ(report.echoes.packets, 1U);
    EXPECT_EQ(report.non_ip.packets, 2U);
    EXPECT_EQ(report.non_ip_types, (std::vector<engines::NonIpTypeCount>{{"0x0806", "ARP", 2}}));
    EXPECT_EQ(report.malformed.packets, 1U);
    const Mode& frame = report.modes[static_cast<std::size_t>(KeyMode::kFrame)];
    EXPECT_EQ(frame.rows.back().dropped.packets, 1U);
    EXPECT_EQ(frame.rows.back().lost, (Count{1, 60}));
}

// A packet with an ID that counts has a copy within 3 us. A hello is repeated every 10 s.
TEST(Collector, copies_are_counted_apart_from_what_was_sent_again) {
    Stream stream(2);
    PacketSpec hello = packet_number(0);
    hello.protocol = 89;
    for (unsigned i = 0; i < 5; ++i) {
        stream.add(i * 10 * kSecond, hello, 0);
        stream.add(i * 10 * kSecond + kSecond, packet_number(static_cast<std::uint16_t>(2 + i)), 0);
        PacketSpec copy = packet_number(static_cast<std::uint16_t>(2 + i));
        --copy.ttl;
        copy.source_mac[5] = 9;
        stream.add(i * 10 * kSecond + kSecond + 3 * kMicrosecond, copy, 1);
    }
    const Report report = stream.report();
    EXPECT_EQ(report.echoes.packets, 9U);
    EXPECT_EQ(report.copied.packets, 5U);
    const CauseCount& routed = report.causes[static_cast<std::size_t>(Cause::kRouted)];
    const CauseCount& same = report.causes[static_cast<std::size_t>(Cause::kIdentical)];
    EXPECT_EQ(routed.copied, report.copied);
    EXPECT_EQ(same.echoes.packets, 4U);
    EXPECT_EQ(same.copied.packets, 0U);
    EXPECT_EQ(report.differences[0].copied, 5U);
    EXPECT_EQ(report.interfaces[0].copied.packets, 0U);
    EXPECT_EQ(report.interfaces[1].copied, report.copied);
    for (const ProtocolCount& one : report.protocols) {
        EXPECT_EQ(one.copied.packets, one.name == "IPv4 UDP" ? 5U : 0U) << one.name;
    }
    for (const WindowRow& row : report.windows) {
        const bool reached = !row.window || *row.window > 3 * kMicrosecond;
        EXPECT_EQ(row.fixed_copied.packets, reached ? 5U : 0U);
        EXPECT_EQ(row.refresh_copied.packets, reached ? 5U : 0U);
    }
    EXPECT_EQ(report.windows.back().fixed.packets, 9U);
}

// An ARP frame is seen again 5 us later with a tag, and a third time after 10 s.
TEST(Collector, copies_without_an_ip_packet_count_wherever_copies_do) {
    Stream stream(2);
    test::Bytes arp = test::build_ethernet(0x0806, test::counting(46));
    stream.add(0, arp, 0);
    test::Bytes tagged = arp;
    tagged.insert(tagged.begin() + 12, {0x81, 0x00, 0x00, 0x05});
    stream.add(5 * kMicrosecond, tagged, 1);
    stream.add(10 * kSecond, arp, 0);
    const Report report = stream.report();
    EXPECT_EQ(report.echoes.packets, 2U);
    EXPECT_EQ(report.copied, (Count{1, tagged.size()}));
    EXPECT_EQ(report.non_ip_copied, report.copied);
    EXPECT_EQ(report.sent_again, (Count{1, arp.size()}));
    EXPECT_EQ(report.causes[static_cast<std::size_t>(Cause::kRetagged)].copied, report.copied);
    EXPECT_EQ(report.interfaces[0].copied.packets, 0U);
    EXPECT_EQ(report.interfaces[1].copied, report.copied);
    EXPECT_EQ(report.files[1].copied, report.copied);
    ASSERT_EQ(report.protocols.size(), 1U);
    EXPECT_EQ(report.protocols[0].copied, report.copied);
    for (std::size_t i = 0; i < report.windows.size(); ++i) {
        EXPECT_EQ(report.windows[i].refresh.packets, 0U);
        EXPECT_EQ(report.windows[i].refresh_copied.packets, 0U);
        const WindowRow& row = report.basis.frame_windows[i];
        const bool reached = !row.window || *row.window > 5 * kMicrosecond;
        const bool late = !row.window || *row.window >= 10 * kSecond;
        EXPECT_EQ(row.fixed_copied.packets, reached ? 1U : 0U);
        EXPECT_EQ(row.refresh_copied.packets, reached ? 1U : 0U);
        EXPECT_EQ(row.refresh.packets, (reached ? 1U : 0U) + (late ? 1U : 0U));
    }
}

// Acknowledgements of 802.11 cannot be told apart, so they have no key.
TEST(Collector, frames_of_802_11_without_a_number_are_no_echoes) {
    Stream stream(1, 105);
    const test::Bytes ack{0xD4, 0, 0, 0, 2, 2, 2, 2, 2, 2};
    const test::Bytes request{0xB4, 0, 0, 0, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4};
    for (unsigned i = 0; i < 20; ++i) {
        stream.add(i * kMicrosecond, i % 4 == 0 ? request : ack);
    }
    const Report report = stream.report();
    EXPECT_EQ(report.non_ip.packets, 20U);
    EXPECT_EQ(report.echoes.packets + report.copied.packets + report.sent_again.packets, 0U);
}

TEST(Collector, ages_have_the_resolution_of_timestamps) {
    for (const Nanoseconds step : {Nanoseconds{1}, kMicrosecond, kMillisecond, kSecond}) {
        Stream stream;
        stream.add(kSecond, packet_number(2));
        stream.add(kSecond + 7 * step, packet_number(2));
        EXPECT_EQ(stream.report().ages.resolution, std::min(step, kMillisecond));
    }
}

TEST(Collector, raw_ip_and_ethernet_meet) {
    Stream stream(2);
    stream.interfaces()[1].link_type = 101;
    stream.add(0, packet_number(1), 0);
    stream.add(10, test::build_ip(packet_number(1)), 1);
    EXPECT_EQ(stream.report().echoes.packets, 1U);
}

TEST(Collector, link_type_without_a_parser_has_frame_keys_only) {
    Stream stream(1, 147);
    stream.add(0, packet_number(1));
    stream.add(10, packet_number(1));
    const Report report = stream.report();
    EXPECT_EQ(report.keyed.packets, 0U);
    EXPECT_EQ(report.modes[static_cast<std::size_t>(KeyMode::kFrame)].rows.back().dropped.packets,
              1U);
}

// Decides what each mode drops with each window, with one table for each mode and window.
class Oracle {
  public:
    void add(std::array<std::optional<Digest>, packet::kKeyModes> keys, Nanoseconds now) {
        std::array<WindowMask, packet::kKeyModes> masks{};
        for (std::size_t mode = 0; mode < keys.size(); ++mode) {
            for (unsigned i = 0; keys[mode] && i < kWindows; ++i) {
                const auto [at, fresh] = accepted_[mode][i].emplace(*keys[mode], now);
                if (!fresh && now - at->second < kWindowBuckets[i]) {
                    masks[mode] |= WindowMask{1} << i;
                } else {
                    at->second = now;
                }
            }
        }
        for (std::size_t mode = 0; mode < keys.size(); ++mode) {
            dropped[mode].add(masks[mode], 1);
            lost[mode].add(masks[mode] & ~masks[0], 1);
            missed[mode].add(masks[0] & ~masks[mode], 1);
        }
    }

    std::array<WindowCounts, packet::kKeyModes> dropped;
    std::array<WindowCounts, packet::kKeyModes> lost;
    std::array<WindowCounts, packet::kKeyModes> missed;

  private:
    std::array<std::array<std::unordered_map<Digest, Nanoseconds>, kWindows>, packet::kKeyModes>
        accepted_;
};

PacketSpec random_packet(std::mt19937_64& random) {
    PacketSpec spec = random() % 2 == 0 ? packet_number(0) : segment(0);
    spec.version = random() % 4 == 0 ? 6 : 4;
    spec.id = static_cast<std::uint16_t>(random() % 40);
    spec.source_port = static_cast<std::uint16_t>(random() % 3);
    spec.ttl = static_cast<std::uint8_t>(60 + random() % 2);
    if (random() % 8 == 0) {
        std::swap(spec.source, spec.destination);
        std::swap(spec.source_port, spec.destination_port);
    }
    if (random() % 16 == 0) {
        spec.payload.resize(random() % 4);
        spec.protocol = 47;
    }
    return spec;
}

void expect_oracles_counts(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Stream stream;
    Oracle oracle;
    const hash::Secret secret = hash::secret_from_seed(7);
    Nanoseconds now = kSecond;
    for (unsigned n = 0; n < 8'000; ++n) {
        now += random() % kWindowBuckets[random() % 22];
        test::Bytes frame = build(random_packet(random));
        if (random() % 16 == 0) {
            frame.resize(random() % frame.size());
        }
        stream.add(now, frame);
        const packet::Frame view{frame.data(), static_cast<std::uint32_t>(frame.size())};
        packet::ParsedBurst parsed;
        packet::parse_burst(packet::LinkType::kEthernet, {&view, 1}, parsed);
        std::array<std::optional<Digest>, packet::kKeyModes> keys;
        for (std::size_t mode = 0; mode < keys.size(); ++mode) {
            Digest digest = 0;
            const auto masks = packet::digest_burst(static_cast<KeyMode>(mode), {&view, 1}, parsed,
                                                    secret, &digest);
            keys[mode] = masks.keyed != 0 ? std::optional(digest) : std::nullopt;
        }
        oracle.add(keys, now);
    }
    const Report report = stream.report();
    for (std::size_t mode = 0; mode < packet::kKeyModes; ++mode) {
        for (unsigned i = 0; i < kWindows; ++i) {
            const ModeRow& row = report.modes[mode].rows[i];
            EXPECT_EQ(row.dropped.packets, oracle.dropped[mode].at(i).packets) << mode << " " << i;
            EXPECT_EQ(row.lost.packets, oracle.lost[mode].at(i).packets) << mode << " " << i;
            EXPECT_EQ(row.missed.packets, oracle.missed[mode].at(i).packets) << mode << " " << i;
        }
    }
    EXPECT_GT(report.modes[1].rows[20].lost.packets, 100U);
    EXPECT_GT(report.modes[3].rows[20].missed.packets, 10U);
}

TEST(Collector, every_mode_and_window_agrees_with_an_oracle_on_a_random_stream) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(seed);
        expect_oracles_counts(seed);
    }
}

TEST(Collector, refresh_counts_gaps_below_the_window) {
    std::mt19937_64 random(2);
    Stream stream;
    std::map<std::uint16_t, Nanoseconds> last;
    std::array<std::uint64_t, kWindows> expected{};
    Nanoseconds now = 0;
    for (unsigned n = 0; n < 5'000; ++n) {
        now += random() % kMillisecond;
        const auto id = static_cast<std::uint16_t>(random() % 100);
        stream.add(now, packet_number(id));
        if (const auto at = last.find(id); at != last.end()) {
            for (unsigned i = 0; i < kWindows; ++i) {
                expected[i] += now - at->second < kWindowBuckets[i] ? 1 : 0;
            }
        }
        last[id] = now;
    }
    const Report report = stream.report();
    for (unsigned i = 0; i < kWindows; ++i) {
        EXPECT_EQ(report.windows[i].refresh.packets, expected[i]) << i;
    }
}

TEST(Collector, full_memory_forgets_the_oldest_and_says_from_which_age_on_it_is_blind) {
    Stream stream;
    constexpr unsigned kPackets = 60'000;
    for (unsigned n = 0; n < kPackets; ++n) {
        PacketSpec spec = packet_number(static_cast<std::uint16_t>(n));
        spec.source = n >> 16;
        stream.add(n * kMicrosecond, spec);
    }
    stream.add(kPackets * kMicrosecond, packet_number(1));  // long forgotten
    PacketSpec young = packet_number(kPackets - 1000);
    young.source = 0;
    stream.add(kPackets * kMicrosecond, young);
    const Report report = stream.report(4 << 20);
    EXPECT_EQ(report.echoes.packets, 1U);
    ASSERT_TRUE(report.blind_after);
    EXPECT_GT(*report.blind_after, 10'000 * kMicrosecond);
    EXPECT_LT(*report.blind_after, kPackets * kMicrosecond);
    EXPECT_LE(report.memory_bytes, std::uint64_t{4} << 20);
    EXPECT_EQ(report.key_times[0] + report.key_times[1], kPackets + 1);
}

// The largest number of protocols, each repeated.
TEST(Collector, what_was_sent_again_is_part_of_the_memory) {
    for (const std::uint64_t memory : {std::uint64_t{4} << 20U, std::uint64_t{32} << 20U}) {
        Stream stream;
        for (const unsigned turn : {0U, 1U}) {
            for (unsigned n = 0; n < 60'000; ++n) {
                PacketSpec spec = packet_number(static_cast<std::uint16_t>(n));
                spec.protocol = static_cast<std::uint8_t>(n % 256);
                stream.add((turn * 60'000 + n) * kMicrosecond, spec);
            }
        }
        EXPECT_LE(stream.report(memory).memory_bytes, memory);
    }
}

TEST(Collector, interfaces_beyond_the_last_count_as_it) {
    constexpr std::size_t kMany = Collector::kMaxInterfaces + 10;
    Stream stream(kMany);
    for (std::uint32_t i = 0; i < kMany; ++i) {
        stream.add(i, packet_number(1), i);
    }
    const Report report = stream.report();
    ASSERT_EQ(report.interfaces.size(), Collector::kMaxInterfaces);
    EXPECT_EQ(report.interfaces.back().echoes.packets, 11U);
    ASSERT_EQ(report.files.size(), kMany);  // one for each capture
    for (const FileInfo& file : report.files) {
        EXPECT_EQ(file.total.packets, 1U);
    }
    EXPECT_EQ(report.files.back().copied.packets, 1U);
}

}  // namespace
}  // namespace unecho::analyze
