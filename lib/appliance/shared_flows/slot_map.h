// SPDX-License-Identifier: BSD-3-Clause
// The master of each slot, as the cluster reports it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <hiredis/hiredis.h>

#include "appliance/shared_flows/endpoint.h"
#include "appliance/shared_flows/layout.h"
#include "base/result.h"

namespace unecho::shared_flows {

class SlotMap {
  public:
    static constexpr std::uint16_t kNobody = 0xffff;
    static constexpr std::size_t kMaxMasters = 1000;  // as many nodes as a cluster should have

    // Parse the answer to CLUSTER SLOTS. A master without a host has that of the answering node.
    static Result<SlotMap> from(const redisReply& reply, const Endpoint& answered);

    [[nodiscard]] const std::vector<Endpoint>& masters() const { return masters_; }
    // Return an index into masters(), or kNobody.
    [[nodiscard]] std::uint16_t owner(unsigned slot) const {
        return owners_.empty() ? kNobody : owners_[slot];
    }
    // Move a slot. Masters beyond kMaxMasters are ignored until the next answer to CLUSTER SLOTS.
    void move(const Redirection& moved);

  private:
    std::uint16_t number_of(const Endpoint& master);

    std::vector<Endpoint> masters_;
    std::vector<std::uint16_t> owners_;  // by slot; empty: unknown
};

}  // namespace unecho::shared_flows
