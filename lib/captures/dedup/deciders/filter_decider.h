// SPDX-License-Identifier: BSD-3-Clause
// A filter as on the wire, sized by memory instead of by rate.
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

namespace unecho::offline {

class FilterDecider final : public Decider {
  public:
    // The one of these engines that takes the highest rate in so much memory. most_packets: if
    // there are not more of them in the capture, with no more memory than they need.
    static Result<std::unique_ptr<FilterDecider>> make(
        const Options& options, std::span<const config::Engine> engines, std::uint64_t memory,
        std::optional<std::uint64_t> most_packets = std::nullopt);

    // The same in two steps, the first of which takes no memory.
    static Result<engines::FilterPlan> plan(
        const Options& options, std::span<const config::Engine> engines, std::uint64_t memory,
        std::optional<std::uint64_t> most_packets = std::nullopt);
    static Result<std::unique_ptr<FilterDecider>> make(engines::FilterPlan plan);

    void decide(pipeline::Burst& burst, const BurstPosition& place, Originals& originals) override;
    [[nodiscard]] DeciderFacts facts(Nanoseconds now) const override;
    [[nodiscard]] filter::AuditState audit_state(Nanoseconds now) const override;

    // Takes over what another decider knows, oldest first: each digest is remembered from its own
    // time on, whatever it matches. Only for engines that can judge.
    void remember(Digest digest, Nanoseconds time);
    void flush_remembered();

  private:
    FilterDecider(engines::FilterPlan plan, MappedMemory memory,
                  std::unique_ptr<engines::FilterInstance> instance);

    engines::FilterPlan plan_;
    MappedMemory memory_;
    std::unique_ptr<engines::FilterInstance> instance_;
    pipeline::FilterContext lane_;
    std::array<Digest, kMaxBurst> digests_;  // to remember
    std::array<Nanoseconds, kMaxBurst> times_;
    unsigned memories_ = 0;
};

}  // namespace unecho::offline
