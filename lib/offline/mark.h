// SPDX-License-Identifier: BSD-3-Clause
// The comment that an echo gets in a pcapng: "echo of packet 17, 57 us". Packets are numbered as
// Wireshark does, which gives journal entries and custom blocks of a pcapng numbers too.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/record.h"
#include "capture/writer.h"
#include "offline/deduplicator.h"

namespace unecho::offline {

// Of several inputs: from numbers of packets to those of Wireshark.
class FrameNumbers {
  public:
    // Those of a batch, whose first packet has that number.
    void add(std::span<const capture::Block> blocks, std::uint64_t first_number);

    // Absent: too far back, behind more places with such blocks than are remembered.
    [[nodiscard]] std::optional<std::uint64_t> of(std::uint64_t number) const;

  private:
    struct Step {
        std::uint64_t from;   // this packet and those behind it
        std::uint64_t shift;  // are numbered so much higher
    };

    std::deque<Step> steps_;
    bool forgot_ = false;
};

// inputs: the original's is named if they are several; then its number is that of the merged input,
// in which numbers tells how Wireshark counts.
// "echo" alone where a filter decided: it knows of no original.
std::string mark_text(const EchoPair& copy, std::span<const std::string> inputs,
                      const FrameNumbers& numbers);

// Of the copies of a batch.
std::vector<capture::Comment> marks_of(std::span<const EchoPair> copies,
                                       std::span<const std::string> inputs,
                                       const FrameNumbers& numbers);

}  // namespace unecho::offline
