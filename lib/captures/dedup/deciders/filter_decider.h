// SPDX-License-Identifier: BSD-3-Clause
// A filter as on live traffic, sized by memory instead of rate.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/result.h"
#include "captures/dedup/deciders/decider.h"
#include "captures/dedup/deciders/packet_memory.h"
#include "captures/dedup/options.h"
#include "dedup/engines/instance.h"

namespace unecho::dedup {

class FilterDecider final : public Decider {
  public:
    // Make the engine of these that takes the highest rate in so much memory. most_packets: if the
    // capture has no more, take no more memory than these need.
    static Result<std::unique_ptr<FilterDecider>> make(
        const Options& options, std::span<const config::Engine> engines, std::uint64_t memory,
        std::optional<std::uint64_t> most_packets = std::nullopt);

    // The same in two steps; plan() takes no memory.
    static Result<engines::FilterPlan> plan(
        const Options& options, std::span<const config::Engine> engines, std::uint64_t memory,
        std::optional<std::uint64_t> most_packets = std::nullopt);
    static Result<std::unique_ptr<FilterDecider>> make(engines::FilterPlan plan);

    void decide(pipeline::Burst& burst, const BurstPosition& place, Originals& originals) override;
    [[nodiscard]] DeciderFacts facts(Nanoseconds now) const override;
    [[nodiscard]] filter::AuditState audit_state(Nanoseconds now) const override;

    // Insert what another decider remembers, oldest first: each digest with its own time, whatever
    // it matches. Only for engines that give the chance of an accidental match.
    void remember(Digest digest, Nanoseconds time);
    void flush_remembered();

  private:
    FilterDecider(engines::FilterPlan plan, MappedMemory memory,
                  std::unique_ptr<engines::FilterInstance> instance);

    engines::FilterPlan plan_;
    MappedMemory memory_;
    std::unique_ptr<engines::FilterInstance> instance_;
    pipeline::FilterContext context_;
    std::array<Digest, kMaxBurst> digests_;  // to be inserted
    std::array<Nanoseconds, kMaxBurst> times_;
    unsigned tables_ = 0;
};

}  // namespace unecho::dedup
