// SPDX-License-Identifier: BSD-3-Clause
// The audit of a decider. It works as on live traffic (dedup/pipeline/audit.h), but samples as many
// keys as fit into its memory, possibly all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "captures/dedup/deciders/decider.h"
#include "captures/dedup/deciders/packet_memory.h"
#include "captures/dedup/options.h"
#include "dedup/engines/audit_report.h"
#include "dedup/pipeline/audit.h"

namespace unecho::dedup {

// Return the pairs of inputs whose count is not 0. All inputs from the 32nd on count as "others".
std::vector<engines::PortPairCount> crossings_between(const pipeline::PortPairMatrix& counted,
                                                      const std::vector<std::string>& names);

class AuditRunner {
  public:
    // Its share of the memory for all that is remembered.
    static constexpr std::uint64_t memory_share(std::uint64_t memory) { return memory / 8; }

    // memory: at most. slack: of the decider. Errc::kConfig, kNoMemory.
    static Result<std::unique_ptr<AuditRunner>> make(const Options& options, std::uint64_t memory,
                                                     Nanoseconds slack);

    // Continue with another decider, which has another slack.
    void change_slack(Nanoseconds slack, Nanoseconds now);

    // Check a decided burst. state: of its decider, after the burst.
    void look(const pipeline::Burst& burst, filter::AuditState state);

    // names: of the inputs.
    [[nodiscard]] engines::AuditReport report(const Options& options, const DeciderFacts& decider,
                                              Nanoseconds elapsed,
                                              const std::vector<std::string>& names) const;

  private:
    AuditRunner(const Options& options, const pipeline::AuditSecret& secret, MappedMemory memory,
                const filter::AuditParams& params);

    MappedMemory memory_;
    packet::KeySpec key_;
    pipeline::AuditSecret secret_;
    pipeline::PortPairMatrix crossings_{};
    filter::Audit audit_;
    pipeline::AuditStage stage_;
    Nanoseconds slack_;
};

}  // namespace unecho::dedup
