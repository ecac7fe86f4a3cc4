// SPDX-License-Identifier: BSD-3-Clause
// The blocks of a pcapng that each part of a split one begins with: the header of the section that
// it is in, its interfaces, names and secrets so far; the first part also with all others that came
// before its first packet. Private to capture.
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
    // Names, secrets and the like beyond are in the part alone that is open where they stand.
    static constexpr std::size_t kMostBytes = 4U << 20;

    // A block stands here. open: it goes into the part that is written.
    void add(const Block& block, bool open);
    // A packet stands here. written: into the part that is open now.
    void add_packet(bool open, bool written);

    // What the next part begins with. Points into this, up to the next call.
    [[nodiscard]] std::vector<Block> begin(bool first);

    [[nodiscard]] std::vector<Warning> warnings() const;

  private:
    struct Stored {
        Block block;  // but for its data
        std::string bytes;
        bool repeated = false;  // in each part
    };

    void begin_section(bool open);
    void forget_singles();
    bool is_repeated(const Block& block);
    void store(const Block& block, bool repeated);

    std::vector<Stored> stored_;
    std::set<std::uint32_t> known_;  // interfaces of the merged inputs that are stored
    std::size_t bytes_ = 0;
    bool merged_header_ = false;  // is stored
    bool singles_ = true;         // some stored ones are for the first part alone
    bool packets_ = false;        // the section had some
    Warning beyond_{.times = 0,
                    .text =
                        "names, secrets or other blocks that came before take more than "
                        "4MiB: some are not in each part"};
};

}  // namespace unecho::capture
