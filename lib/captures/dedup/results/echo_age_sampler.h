// SPDX-License-Identifier: BSD-3-Clause
// How old echoes are: what a table that forgets its oldest loses. The echoes that it found do not
// tell, as those that it cannot find are missing among them; so one packet in 256, by its digest,
// is remembered in a table of its own, for several times as long.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "base/result.h"
#include "captures/dedup/deciders/decider.h"
#include "captures/dedup/deciders/packet_memory.h"
#include "captures/dedup/options.h"
#include "filters/window/reference_table.h"

namespace unecho::offline {

class EchoAgeSampler {
  public:
    // Its part of the memory for a table and this: a table of T packets reaches back for T packets,
    // a sixty-fourth of it with one packet in 256 four times as far.
    static constexpr std::uint64_t memory_share(std::uint64_t memory) { return memory / 64; }

    static Result<EchoAgeSampler> make(const Options& options, std::uint64_t memory);

    // A burst, with the echoes that the table found.
    void add(const pipeline::Burst& burst, const BurstPosition& place, const Originals& originals);

    // Nearly all echoes are far younger than this.
    [[nodiscard]] bool are_far_younger_than(Nanoseconds reach) const;

  private:
    // Counts by the bits that an age takes.
    using Counts = std::array<std::uint64_t, 65>;

    EchoAgeSampler(MappedMemory memory, const filter::ReferenceParams& params, unsigned first)
        : memory_(std::move(memory)), sample_(params, memory_.bytes()), first_(first) {}

    MappedMemory memory_;
    filter::ReferenceTable sample_;
    unsigned first_;
    Counts found_{};    // by the table
    Counts sampled_{};  // among one packet in 256
};

}  // namespace unecho::offline
