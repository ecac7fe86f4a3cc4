// SPDX-License-Identifier: BSD-3-Clause
// The ages of echoes, to see what a table loses that forgets its oldest packets. The echoes that it
// found do not show that, because those it missed are not among them. So one packet in 256, by its
// digest, is remembered in a separate table, for several times as long.
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

namespace unecho::dedup {

class EchoAgeSampler {
  public:
    // Its share of the memory. A table of T packets reaches back T packets. A sixty-fourth of that
    // memory, with one packet in 256, reaches four times as far.
    static constexpr std::uint64_t memory_share(std::uint64_t memory) { return memory / 64; }

    static Result<EchoAgeSampler> make(const Options& options, std::uint64_t memory);

    // Add a burst, with the echoes that the table found.
    void add(const pipeline::Burst& burst, const BurstPosition& place, const Originals& originals);

    // Return true if nearly all echoes are far younger than this.
    [[nodiscard]] bool are_far_younger_than(Nanoseconds reach) const;

  private:
    // Counts by the bit width of an age.
    using Counts = std::array<std::uint64_t, 65>;

    EchoAgeSampler(MappedMemory memory, const filter::ReferenceParams& params, unsigned first)
        : memory_(std::move(memory)), sample_(params, memory_.bytes()), first_(first) {}

    MappedMemory memory_;
    filter::ReferenceTable sample_;
    unsigned first_;
    Counts found_{};    // by the table
    Counts sampled_{};  // in the sample
};

}  // namespace unecho::dedup
