// SPDX-License-Identifier: BSD-3-Clause
// The hosts of all flows, and the pairs of hosts that talk to each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "captures/compare/looks/flow.h"

namespace unecho::compare {

class Hosts {
  public:
    static constexpr std::uint32_t kNone = FlowTable::kNone;

    // The ends of a flow. Both directions between two hosts are one pair; `turned` is the direction
    // from the host with the higher number. A group of hosts is none: packets to it come from both
    // sides of a point.
    struct Ends {
        std::uint32_t source = kNone;
        std::uint32_t destination = kNone;
        std::uint32_t pair = kNone;
        bool turned = false;
    };

    explicit Hosts(std::span<const Flow> flows);

    [[nodiscard]] const Ends& of(std::uint32_t flow) const {
        return flow < ends_.size() ? ends_[flow] : none_;
    }
    [[nodiscard]] std::uint32_t hosts() const { return hosts_; }
    [[nodiscard]] std::uint32_t pairs() const { return pairs_; }

  private:
    std::vector<Ends> ends_;
    Ends none_;
    std::uint32_t hosts_ = 0;
    std::uint32_t pairs_ = 0;
};

}  // namespace unecho::compare
