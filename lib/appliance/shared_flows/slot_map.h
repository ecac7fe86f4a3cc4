// SPDX-License-Identifier: BSD-3-Clause
// Which master has a slot, as the cluster tells.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <hiredis/hiredis.h>

#include "appliance/shared_flows/endpoint.h"
#include "appliance/shared_flows/layout.h"
#include "base/result.h"

namespace unecho::root {

class SlotMap {
  public:
    static constexpr std::uint16_t kNobody = 0xffff;
    static constexpr std::size_t kMaxMasters = 1000;  // as many nodes as a cluster should have

    // From the answer to CLUSTER SLOTS; of a master whose address is not told it is that of who
    // answered.
    static Result<SlotMap> from(const redisReply& reply, const Endpoint& answered);

    [[nodiscard]] const std::vector<Endpoint>& masters() const { return masters_; }
    // Of masters(), or kNobody.
    [[nodiscard]] std::uint16_t owner(unsigned slot) const {
        return owners_.empty() ? kNobody : owners_[slot];
    }
    // Not to a master too many; the next answer to CLUSTER SLOTS says who there is.
    void move(const Redirection& moved);

  private:
    std::uint16_t number_of(const Endpoint& master);

    std::vector<Endpoint> masters_;
    std::vector<std::uint16_t> owners_;  // by slot; empty: nothing is known
};

}  // namespace unecho::root
