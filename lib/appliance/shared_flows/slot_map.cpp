// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/shared_flows/slot_map.h"

#include <algorithm>

#include <fmt/core.h>

#include "appliance/shared_flows/connection.h"

namespace unecho::shared_flows {
namespace {

bool is_list(const redisReply& reply, std::size_t least) {
    return reply.type == REDIS_REPLY_ARRAY && reply.elements >= least;
}

bool is_whole(const redisReply& reply, long long most) {
    return reply.type == REDIS_REPLY_INTEGER && reply.integer >= 0 && reply.integer <= most;
}

}  // namespace

std::uint16_t SlotMap::number_of(const Endpoint& master) {
    const auto found = std::find(masters_.begin(), masters_.end(), master);
    if (found != masters_.end()) {
        return static_cast<std::uint16_t>(found - masters_.begin());
    }
    if (masters_.size() == kMaxMasters) {
        return kNobody;
    }
    masters_.push_back(master);
    return static_cast<std::uint16_t>(masters_.size() - 1);
}

Result<SlotMap> SlotMap::from(const redisReply& reply, const Endpoint& answered) {
    if (is_error(reply)) {
        const std::string_view text = text_of(reply);
        return fail(Errc::kConfig,
                    text.find("cluster support disabled") != std::string_view::npos
                        ? answered.text() + " is no Redis Cluster: cluster-enabled is not set there"
                        : fmt::format("{}: {}", answered.text(), text));
    }
    SlotMap out;
    out.owners_.assign(kSlots, kNobody);
    const auto other = [&] {
        return fail(Errc::kIo, answered.text() + ": an answer to CLUSTER SLOTS that is none");
    };
    if (!is_list(reply, 0) || reply.elements > kSlots) {
        return other();
    }
    for (std::size_t i = 0; i < reply.elements; ++i) {
        const redisReply& range = *reply.element[i];
        if (!is_list(range, 3) || !is_whole(*range.element[0], kSlots - 1) ||
            !is_whole(*range.element[1], kSlots - 1) || !is_list(*range.element[2], 2) ||
            !is_whole(*range.element[2]->element[1], 65535)) {
            return other();
        }
        Endpoint master{std::string(text_of(*range.element[2]->element[0])),
                        static_cast<std::uint16_t>(range.element[2]->element[1]->integer)};
        if (master.host.empty() || master.host == "?") {
            master.host = answered.host;
        }
        const std::uint16_t owner = out.number_of(master);
        for (long long slot = range.element[0]->integer; slot <= range.element[1]->integer;
             ++slot) {
            out.owners_[static_cast<std::size_t>(slot)] = owner;
        }
    }
    return out;
}

void SlotMap::move(const Redirection& moved) {
    if (owners_.empty()) {
        owners_.assign(kSlots, kNobody);
    }
    const std::uint16_t to = number_of(moved.to);
    if (to != kNobody) {
        owners_[moved.slot] = to;
    }
}

}  // namespace unecho::shared_flows
