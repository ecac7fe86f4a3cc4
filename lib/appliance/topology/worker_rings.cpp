// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/topology/worker_rings.h"

#include <utility>

#include "appliance/dataplane/steering/ring_counts.h"

namespace unecho::appliance {
namespace {

bool sends_through(const Plan& plan, WorkerIndex from, WorkerIndex to) {
    for (PortIndex p = 0; p < plan.ports.size(); ++p) {
        if (plan.ports[p].transmits && plan.tx_owner(p, from) == to) {
            return true;
        }
    }
    return false;
}

}  // namespace

WorkerRings::WorkerRings(std::size_t workers, std::string name, std::uint32_t size)
    : name_(std::move(name)),
      size_(size),
      deciding_(workers, std::vector<rte_ring*>(workers)),
      sending_(deciding_) {}

Status WorkerRings::connect(const Plan& plan, bool steers) {
    for (WorkerIndex from = 0; from < deciding_.size(); ++from) {
        for (WorkerIndex to = 0; to < deciding_.size(); ++to) {
            if (from == to) {
                continue;
            }
            UNECHO_TRY(connect_pair(plan, steers, from, to));
        }
    }
    return {};
}

Status WorkerRings::connect_pair(const Plan& plan, bool steers, WorkerIndex from, WorkerIndex to) {
    if (steers && deciding_[from][to] == nullptr) {
        auto ring = make("steer", from, to);
        UNECHO_TRY(ring);
        deciding_[from][to] = *ring;
    }
    if (sends_through(plan, from, to) && sending_[from][to] == nullptr) {
        auto ring = make("tx", from, to);
        UNECHO_TRY(ring);
        sending_[from][to] = *ring;
    }
    return {};
}

Result<rte_ring*> WorkerRings::make(const char* kind, WorkerIndex from, WorkerIndex to) {
    auto ring = eal::make_ring(
        name_ + "_" + kind + "_" + std::to_string(from) + "_" + std::to_string(to), size_);
    UNECHO_TRY(ring);
    rings_.push_back(std::move(*ring));
    return rings_.back().get();
}

std::vector<std::uint32_t> WorkerRings::mark() const {
    std::vector<std::uint32_t> marks;
    for (const eal::Ring& ring : rings_) {
        marks.push_back(dataplane::ring_produced(*ring));
    }
    return marks;
}

bool WorkerRings::passed(const std::vector<std::uint32_t>& marks) const {
    for (std::size_t i = 0; i < marks.size(); ++i) {
        if (static_cast<std::int32_t>(dataplane::ring_consumed(*rings_[i]) - marks[i]) < 0) {
            return false;
        }
    }
    return true;
}

}  // namespace unecho::appliance
