// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/results/echo_comments.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace unecho::dedup {
namespace {

constexpr std::uint32_t kNames = 4;
constexpr std::uint32_t kJournal = 9;
constexpr std::uint32_t kCustom = 0xBAD;

EchoPair echo_of(std::uint64_t original, std::int64_t age, std::uint32_t file = 0) {
    return {.number = 9, .known = true, .original_file = file, .original = original, .age = age};
}

TEST(Mark, names_the_original_and_its_age) {
    const std::vector<std::string> one{"in.pcapng"};
    EXPECT_EQ(echo_comment_text(echo_of(17, 57'000), one, PacketNumberMap()),
              "echo of packet 17, 57 us");
    EXPECT_EQ(echo_comment_text(echo_of(1, 0), one, PacketNumberMap()), "echo of packet 1, 0 ns");
    EXPECT_EQ(echo_comment_text(echo_of(3, 1'234'567), one, PacketNumberMap()),
              "echo of packet 3, 1.235 ms");
    EXPECT_EQ(echo_comment_text(echo_of(3, -2000), one, PacketNumberMap()),
              "echo of packet 3, -2 us");
    EXPECT_EQ(echo_comment_text(echo_of(3, 120'000'000'000), one, PacketNumberMap()),
              "echo of packet 3, 120 s");
    const std::vector<std::string> two{"a.pcap", "b\n.pcap"};
    EXPECT_EQ(echo_comment_text(echo_of(3, 5, 1), two, PacketNumberMap()),
              "echo of packet 3 of the merged input, from b\\x0a.pcap, 5 ns");
}

TEST(Mark, without_an_original_where_a_filter_decided) {
    EXPECT_EQ(echo_comment_text({.number = 2}, {}, PacketNumberMap()), "echo");
}

TEST(Mark, numbers_are_those_of_wireshark) {
    PacketNumberMap numbers;
    EXPECT_EQ(numbers.of(1), 1U);
    const std::vector<capture::Block> first{{.type = kNames, .before = 0},
                                            {.type = kCustom, .before = 2},
                                            {.type = kJournal, .before = 2}};
    count_numbered_blocks(first, 1, numbers);
    const std::vector<capture::Block> second{{.type = kCustom, .before = 0}};
    count_numbered_blocks(second, 11, numbers);
    EXPECT_EQ(numbers.of(2), 2U);
    EXPECT_EQ(numbers.of(3), 5U);
    EXPECT_EQ(numbers.of(10), 12U);
    EXPECT_EQ(numbers.of(11), 14U);
}

TEST(Mark, what_lies_behind_too_many_blocks_has_no_number) {
    PacketNumberMap numbers({.runs = kMaxNumberedBlocks});
    for (std::uint64_t packet = 1; packet <= 100'000; ++packet) {
        const capture::Block block{.type = kCustom, .before = 0};
        count_numbered_blocks({&block, 1}, packet, numbers);
    }
    EXPECT_FALSE(numbers.of(1));
    EXPECT_FALSE(numbers.of(100'000 - kMaxNumberedBlocks));
    EXPECT_EQ(numbers.of(100'001 - kMaxNumberedBlocks), 2 * (100'001 - kMaxNumberedBlocks));
    EXPECT_EQ(numbers.of(100'000), 200'000U);
    EXPECT_EQ(echo_comment_text(echo_of(1, 5), std::vector<std::string>{"a", "b"}, numbers),
              "echo");
}

}  // namespace
}  // namespace unecho::dedup
