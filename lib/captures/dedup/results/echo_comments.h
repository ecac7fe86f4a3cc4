// SPDX-License-Identifier: BSD-3-Clause
// The comment that an echo gets in a pcapng: "echo of packet 17, 57 us". Packets are numbered as
// Wireshark does, which gives journal entries and custom blocks of a pcapng numbers too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "captures/dedup/deduplicator.h"
#include "captures/dedup/results/packet_number_map.h"
#include "captures/output/writer.h"
#include "captures/record.h"

namespace unecho::offline {

// Places with such blocks that are remembered.
inline constexpr std::size_t kMaxNumberedBlocks = std::size_t{1} << 16U;

// Lets the numbers count the blocks of a batch, whose first packet has that number, as Wireshark
// does.
void count_numbered_blocks(std::span<const capture::Block> blocks, std::uint64_t first_number,
                           PacketNumberMap& numbers);

// inputs: the original's is named if they are several; then its number is that of the merged input,
// in which numbers tells how Wireshark counts.
// "echo" alone where a filter decided: it knows of no original.
std::string echo_comment_text(const EchoPair& echo, std::span<const std::string> inputs,
                              const PacketNumberMap& numbers);

// Of the echoes of a batch.
std::vector<capture::Comment> echo_comments(std::span<const EchoPair> echoes,
                                            std::span<const std::string> inputs,
                                            const PacketNumberMap& numbers);

}  // namespace unecho::offline
