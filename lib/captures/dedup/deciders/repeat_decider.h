// SPDX-License-Identifier: BSD-3-Clause
// Decides of packets that do not say which transmission they are, where repeats are kept: by the
// union rule, exactly, with the packet that each copy repeats. Stands beside the decider of all
// other packets.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "captures/dedup/deciders/decider.h"
#include "captures/dedup/deciders/packet_memory.h"
#include "captures/dedup/options.h"
#include "filters/repeats/union_rule.h"

namespace unecho::offline {

// What a first reading of the captures has learned: which populations are seen twice.
using Evidence = std::vector<filter::MirrorEvidence::Population>;

class RepeatDecider {
  public:
    // Its part of the memory for all that is remembered.
    static constexpr std::uint64_t memory_share(std::uint64_t memory) { return memory / 4; }

    // same_port: as settled for these inputs. Errc::kConfig, kNoMemory.
    static Result<std::unique_ptr<RepeatDecider>> make(const Options& options,
                                                       Nanoseconds same_port, std::uint64_t memory);

    // Adds copies to the echoes of a burst whose identified packets were decided.
    void decide(pipeline::Burst& burst, const BurstPosition& place, Originals& originals);

    void learn(const Evidence& evidence) { rule_.learn(evidence); }
    [[nodiscard]] Evidence evidence() const {
        const auto known = rule_.populations();
        return {known.begin(), known.end()};
    }

    [[nodiscard]] const filter::RepeatCounters& counters() const { return rule_.counters(); }
    // Count copies by the input of the packet and that of its copy.
    [[nodiscard]] const pipeline::PortPairMatrix& answers() const { return answers_; }
    [[nodiscard]] const filter::AchievedWindow& kept() const { return rule_.kept(); }

  private:
    RepeatDecider(MappedMemory memory, const filter::UnionParams& params)
        : memory_(std::move(memory)), rule_(params, memory_.bytes()) {}

    MappedMemory memory_;
    filter::CaptureUnionRule rule_;
    pipeline::PortPairMatrix answers_{};
};

}  // namespace unecho::offline
