// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/digester.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "packets.h"

namespace unecho::dedup {
namespace {

constexpr std::uint16_t kEthernet = 1;
constexpr std::uint16_t kCooked = 113;
constexpr std::uint16_t kUser0 = 147;

Digester make_digester(packet::KeyMode mode = packet::KeyMode::kFrame) {
    return {{.mode = mode}, hash::secret_from_seed(1), PacketClock::for_window(kMillisecond)};
}

std::vector<unsigned> counts_of(const std::vector<DigestedBurst>& bursts) {
    std::vector<unsigned> counts;
    for (const DigestedBurst& digested : bursts) {
        counts.push_back(digested.burst.count);
    }
    return counts;
}

TEST(digester, bursts_are_full_and_numbers_go_on) {
    Packets packets;
    for (unsigned i = 0; i < 130; ++i) {
        packets.add(i, i);
    }
    const std::vector interfaces{interface_of(kEthernet, 5)};
    Digester digester = make_digester();
    std::vector<DigestedBurst> bursts;
    for (const std::uint64_t before : {0U, 130U}) {
        digester.digest(packets.records(), interfaces, bursts);
        ASSERT_EQ(counts_of(bursts), (std::vector<unsigned>{64, 64, 2}));
        EXPECT_EQ(bursts[0].place.first_number, before + 1);
        EXPECT_EQ(bursts[2].place.first_number, before + 129);
        EXPECT_EQ(bursts[2].place.records, &packets.records()[128]);
        EXPECT_EQ(bursts[2].place.files[1], 5u);
        EXPECT_EQ(bursts[0].burst.keys.keyed, ~std::uint64_t{0});
        EXPECT_EQ(bursts[2].burst.keys.keyed, 3u);
        EXPECT_EQ(bursts[2].burst.bytes, 16u);
    }
}

TEST(digester, bursts_end_where_the_link_type_changes) {
    Packets packets;
    for (const std::uint32_t interface : {0, 0, 1, 2, 0}) {
        packets.add(0, 1, interface);
    }
    const std::vector interfaces{interface_of(kEthernet), interface_of(kCooked),
                                 interface_of(kCooked)};
    Digester digester = make_digester();
    std::vector<DigestedBurst> bursts;
    digester.digest(packets.records(), interfaces, bursts);
    ASSERT_EQ(counts_of(bursts), (std::vector<unsigned>{2, 2, 1}));
    EXPECT_EQ(bursts[0].burst.link, packet::LinkType::kEthernet);
    EXPECT_EQ(bursts[1].burst.link, packet::LinkType::kSll);
    EXPECT_EQ(bursts[2].place.first_number, 5u);
}

TEST(digester, far_steps_back_begin_epochs_each_with_a_warning) {
    Packets packets;
    constexpr Nanoseconds kHour = 3600 * kSecond;
    for (const Nanoseconds time :
         {2 * kHour, kHour, kHour + 1, kHour + 1 - kSecond, kHour - kSecond}) {
        packets.add(time, 1);
    }
    const std::vector interfaces{interface_of(kEthernet, 2)};
    Digester digester = make_digester();
    std::vector<DigestedBurst> bursts;
    digester.digest(packets.records(), interfaces, bursts);
    EXPECT_EQ(
        std::vector<Nanoseconds>(bursts[0].burst.times.begin(), bursts[0].burst.times.begin() + 5),
        (std::vector<Nanoseconds>{2 * kHour, 2 * kHour, 2 * kHour + 1, 2 * kHour + 1,
                                  2 * kHour + 1}));
    ASSERT_EQ(digester.warnings().size(), 2u);
    EXPECT_EQ(digester.warnings()[0].number, 2u);
    EXPECT_EQ(digester.warnings()[0].file, 2u);
    EXPECT_NE(digester.warnings()[0].text.find("steps back by 3600 s"), std::string::npos)
        << digester.warnings()[0].text;
    EXPECT_EQ(digester.warnings()[1].number, 5u);
    EXPECT_EQ(digester.elapsed(), 1u);
    for (int i = 0; i < 100; ++i) {
        digester.digest(packets.records(), interfaces, bursts);
    }
    EXPECT_EQ(digester.warnings().size(), 9u) << "not a line for each of thousands";
    EXPECT_EQ(digester.warnings()[8].times, 2 + 200 - 8u);
}

TEST(digester, packets_have_the_numbers_of_the_input) {
    Packets packets;
    for (int i = 0; i < 70; ++i) {
        packets.add(0, 1);
    }
    std::vector<capture::Record> chosen;
    std::vector<std::uint64_t> source_numbers;
    for (std::size_t i = 0; i < 70; i += i == 3 ? 2 : 1) {
        chosen.push_back(packets.records()[i]);
        chosen.back().number += 1000;
        source_numbers.push_back(i + 1);
    }
    const std::vector interfaces{interface_of(kEthernet)};
    for (const bool merged : {false, true}) {
        Digester digester({.mode = packet::KeyMode::kFrame}, hash::secret_from_seed(1),
                          PacketClock(), 0, merged);
        std::vector<DigestedBurst> bursts;
        digester.digest(chosen, interfaces, bursts, source_numbers);
        ASSERT_EQ(bursts.size(), 2u);
        EXPECT_EQ(bursts[0].place.first_number, 1u);
        EXPECT_EQ(bursts[0].place.numbers[3], merged ? 4u : 1004u);
        EXPECT_EQ(bursts[0].place.numbers[4], merged ? 6u : 1006u);
        EXPECT_EQ(bursts[1].place.first_number, 65u);
        EXPECT_EQ(bursts[1].place.numbers[0], merged ? 66u : 1066u);
        digester.digest(packets.records(), interfaces, bursts);
        EXPECT_EQ(bursts[1].place.numbers[5], 70u + (merged ? 69u : 0u)) << "none was left out";
    }
}

// A frame of exactly the ignored bytes is short, and a longer one has equal bytes behind them.
TEST(digester, short_frames_equal_no_rest_of_longer_ones) {
    constexpr std::uint32_t kIgnored = 8;
    std::array<std::array<std::uint8_t, 2 * kIgnored>, 2> bytes{{{1, 2}, {3, 4}}};
    std::vector<capture::Record> records;
    for (auto& one : bytes) {
        std::fill(one.begin() + kIgnored, one.end(), std::uint8_t{5});
        capture::Record record;
        record.data = one.data();
        record.length = record.wire_length = 2 * kIgnored;
        records.push_back(record);
        record.data += kIgnored;
        record.length = record.wire_length = kIgnored;
        records.push_back(record);
    }
    const std::vector interfaces{interface_of(kEthernet)};
    Digester digester({.mode = packet::KeyMode::kFrame}, hash::secret_from_seed(1), PacketClock(),
                      kIgnored);
    std::vector<DigestedBurst> bursts;
    digester.digest(records, interfaces, bursts);
    const auto& digests = bursts.at(0).burst.digests;
    EXPECT_EQ(digests[0], digests[2]);
    EXPECT_EQ(digests[1], digests[3]);
    EXPECT_NE(digests[0], digests[1]);
}

TEST(digester, frames_without_ip_have_keys_where_they_are_compared) {
    Packets packets;
    packets.add(0, 1);
    packets.add(0, 1);
    const std::vector interfaces{interface_of(kUser0)};
    Digester digester({.mode = packet::KeyMode::kPacket, .non_ip = packet::NonIp::kFrame},
                      hash::secret_from_seed(1), PacketClock::for_window(kMillisecond));
    std::vector<DigestedBurst> bursts;
    digester.digest(packets.records(), interfaces, bursts);
    EXPECT_EQ(bursts[0].burst.keys.keyed, 3u);
    EXPECT_EQ(bursts[0].burst.digests[0], bursts[0].burst.digests[1]);
    EXPECT_TRUE(digester.warnings().empty());
}

}  // namespace
}  // namespace unecho::dedup
