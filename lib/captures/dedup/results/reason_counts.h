// SPDX-License-Identifier: BSD-3-Clause
// The packets of a capture by reason, and the types of those without IP.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "dedup/engines/non_ip_types.h"
#include "dedup/pipeline/burst.h"
#include "dedup/pipeline/reasons.h"

namespace unecho::dedup {

// Bytes are captured bytes.
using Reasons = std::array<pipeline::PacketBytes, pipeline::kReasons>;

class ReasonCounts {
  public:
    void add(const pipeline::Burst& burst);

    [[nodiscard]] const Reasons& reasons() const { return reasons_; }
    [[nodiscard]] std::uint64_t packets(pipeline::Reason reason) const {
        return reasons_[static_cast<std::size_t>(reason)].packets;
    }
    // Types of packets counted as non_ip, the most frequent first.
    [[nodiscard]] std::vector<engines::NonIpTypeCount> non_ip_types() const {
        return non_ip_.most_first();
    }

    [[nodiscard]] const packet::TunnelCounters& tunnels() const { return tunnels_; }

  private:
    Reasons reasons_{};
    packet::TunnelCounters tunnels_;
    engines::NonIpTypeCounter non_ip_;
};

}  // namespace unecho::dedup
