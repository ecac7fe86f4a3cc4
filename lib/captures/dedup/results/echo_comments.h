// SPDX-License-Identifier: BSD-3-Clause
// The comment of an echo in a pcapng: "echo of packet 17, 57 us". Packets are numbered as in
// Wireshark, which numbers journal entries and custom blocks of a pcapng too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "captures/dedup/deduplicator.h"
#include "captures/dedup/results/packet_number_map.h"
#include "captures/output/writer.h"
#include "captures/record.h"

namespace unecho::dedup {

// Bound of the remembered places of such blocks.
inline constexpr std::size_t kMaxNumberedBlocks = std::size_t{1} << 16U;

// Add a batch's numbered blocks to `numbers`. first_number: of the batch's first packet.
void count_numbered_blocks(std::span<const capture::Block> blocks, std::uint64_t first_number,
                           PacketNumberMap& numbers);

// Return the comment. With several inputs, it has the original's input and its number in the merged
// input, which `numbers` maps to Wireshark's. If a filter decided, it is "echo" alone.
std::string echo_comment_text(const EchoPair& echo, std::span<const std::string> inputs,
                              const PacketNumberMap& numbers);

std::vector<capture::Comment> echo_comments(std::span<const EchoPair> echoes,
                                            std::span<const std::string> inputs,
                                            const PacketNumberMap& numbers);

}  // namespace unecho::dedup
