// SPDX-License-Identifier: BSD-3-Clause
// The blocks of a pcapng that each part of a split capture begins with: its section's header, and
// interfaces, names and secrets so far. The first part also has all others before its packets.
// Private to captures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "captures/record.h"

namespace unecho::capture {

class SplitPreamble {
  public:
    // Bound of names, secrets and the like. Later ones are only in the part where they stand.
    static constexpr std::size_t kMostBytes = 4U << 20;

    // Note a block of the input. open: a part is open, and gets it.
    void add(const Block& block, bool open);
    // Note a packet of the input. open: a part is open. written: the packet is kept.
    void add_packet(bool open, bool written);

    // Return the blocks that the next part begins with. They point into this, until the next call.
    [[nodiscard]] std::vector<Block> begin(bool first);

    [[nodiscard]] std::vector<Warning> warnings() const;

  private:
    struct Stored {
        Block block;  // without its data
        std::string bytes;
        bool repeated = false;  // in each part
    };

    void begin_section(bool open);
    void forget_singles();
    bool is_repeated(const Block& block);
    void store(const Block& block, bool repeated);

    std::vector<Stored> stored_;
    std::set<std::uint32_t> known_;  // stored interfaces of merged inputs
    std::size_t bytes_ = 0;
    bool merged_header_ = false;  // the header of merged inputs is stored
    bool singles_ = true;         // some stored blocks are for the first part only
    bool packets_ = false;        // the section had packets
    Warning beyond_{.times = 0,
                    .text =
                        "names, secrets or other blocks that came before take more than "
                        "4 MiB: some are not in each part"};
};

}  // namespace unecho::capture
