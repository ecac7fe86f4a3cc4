// SPDX-License-Identifier: BSD-3-Clause
// The decider of packets that are not identified, if repeats are kept. It applies the union rule,
// exactly, and knows the packet that each copy repeats. Another decider has all other packets.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "captures/dedup/deciders/decider.h"
#include "captures/dedup/deciders/packet_memory.h"
#include "captures/dedup/options.h"
#include "filters/repeats/union_rule.h"

namespace unecho::dedup {

// Populations that are seen twice, as a first reading of the captures found them.
using Evidence = std::vector<filter::MirrorEvidence::Population>;

class RepeatDecider {
  public:
    // Its share of the memory for all that is remembered.
    static constexpr std::uint64_t memory_share(std::uint64_t memory) { return memory / 4; }

    // same_port: the value for these inputs. Errc::kConfig, kNoMemory.
    static Result<std::unique_ptr<RepeatDecider>> make(const Options& options,
                                                       Nanoseconds same_port, std::uint64_t memory);

    // Add copies to the echoes of a burst whose identified packets have been decided.
    void decide(pipeline::Burst& burst, const BurstPosition& place, Originals& originals);

    void learn(const Evidence& evidence) { rule_.learn(evidence); }
    [[nodiscard]] Evidence evidence() const {
        const auto known = rule_.populations();
        return {known.begin(), known.end()};
    }

    [[nodiscard]] const filter::RepeatCounters& counters() const { return rule_.counters(); }
    // Counts of copies by the input of the original and that of the copy.
    [[nodiscard]] const pipeline::PortPairMatrix& answers() const { return answers_; }
    [[nodiscard]] const filter::AchievedWindow& kept() const { return rule_.kept(); }

  private:
    RepeatDecider(MappedMemory memory, const filter::UnionParams& params)
        : memory_(std::move(memory)), rule_(params, memory_.bytes()) {}

    MappedMemory memory_;
    filter::CaptureUnionRule rule_;
    pipeline::PortPairMatrix answers_{};
};

}  // namespace unecho::dedup
