// SPDX-License-Identifier: BSD-3-Clause
#include "control/wiring.h"

#include <utility>

#include <rte_lcore.h>

#include "eal/mbuf_fields.h"

namespace unecho::control {

Result<std::unique_ptr<Wiring>> Wiring::make(const WiringInput& input) {
    std::unique_ptr<Wiring> wiring(new Wiring(input));
    Status status = wiring->make_workers();
    const auto then = [&](auto step) {
        if (status) {
            status = (wiring.get()->*step)();
        }
    };
    then(&Wiring::find_mbuf_fields);
    then(&Wiring::connect);
    if (!status) {
        return tl::unexpected(status.error());
    }
    for (std::size_t w = 0; w < wiring->parts_.size(); ++w) {
        wiring->parts_[w]->worker = std::make_unique<dataplane::Worker>(wiring->setups_[w]);
    }
    return wiring;
}

Wiring::Wiring(const WiringInput& input)
    : input_(input),
      plan_(*input.plan),
      filter_shared_(std::make_unique<dataplane::FilterShared[]>(plan_.filters.size())),
      setups_(plan_.workers.size()) {}

Status Wiring::make_workers() {
    for (WorkerIndex w = 0; w < setups_.size(); ++w) {
        parts_.push_back(std::make_unique<WorkerParts>());
        fill_common(w);
        fill_sources(w);
        fill_routes(setups_[w]);
        fill_ways(w);
        if (const Status status = make_filters(w); !status) {
            return status;
        }
        make_room_to_wait(w);
        if (const Status status = make_taps(w); !status) {
            return status;
        }
        if (const Status status = make_audits(w); !status) {
            return status;
        }
    }
    return {};
}

void Wiring::fill_common(WorkerIndex worker) {
    WorkerParts& parts = *parts_[worker];
    dataplane::WorkerSetup& setup = setups_[worker];
    setup.common.burst = input_.burst;
    setup.common.secret = input_.secret;
    setup.common.clock = input_.clock;
    setup.common.capture_clock = input_.capture_clock;
    setup.report.shared = &parts.shared;
    parts.scratch.resize(dataplane::kScratchBytes);
    setup.scratch = parts.scratch;
}

void Wiring::fill_sources(WorkerIndex worker) {
    WorkerParts& parts = *parts_[worker];
    for (const RxAssignment& rx : plan_.workers[worker].rx) {
        parts.sources.push_back({input_.ports[rx.port], rx.queue, rx.port,
                                 plan_.ports[rx.port].setup.rx_descriptors, rx.route});
    }
    setups_[worker].receive.sources = parts.sources;
    setups_[worker].watch = {plan_.stall_threshold, parts.sources};
}

void Wiring::fill_routes(dataplane::WorkerSetup& setup) const {
    for (std::size_t r = 0; r < plan_.routes.size(); ++r) {
        const RoutePlan& route = plan_.routes[r];
        setup.routes[r] = {route.filter, route.to, route.divert_to, route.on_echo};
        for (const PortIndex port : route.from) {
            setup.steering.route_of[input_.ports[port]] = static_cast<RouteIndex>(r);
        }
    }
}

// To other workers and to ports; the rings come later.
void Wiring::fill_ways(WorkerIndex worker) {
    dataplane::WorkerSetup& setup = setups_[worker];
    setup.steering.by_ring = plan_.steering == Steering::kRing;
    setup.steering.card = input_.card;
    setup.steering.workers = static_cast<unsigned>(setups_.size());
    setup.steering.self = worker;
    setup.transmit.retry_cycles = input_.tx_retry_cycles;
    for (PortIndex p = 0; p < plan_.ports.size(); ++p) {
        setup.transmit.targets[p] = {input_.ports[p], plan_.tx_owner(p, worker), nullptr};
    }
}

Status Wiring::make_filters(WorkerIndex worker) {
    dataplane::LanesSetup& lanes = setups_[worker].lanes;
    const int socket = static_cast<int>(rte_lcore_to_socket_id(plan_.workers[worker].lcore));
    lanes.count = static_cast<unsigned>(plan_.filters.size());
    for (std::size_t f = 0; f < plan_.filters.size(); ++f) {
        auto filter = WorkerFilter::make(plan_.filters[f], socket, input_.hugepages);
        if (!filter) {
            return tl::unexpected(filter.error());
        }
        lanes.lanes[f] = (*filter)->instance().lane(plan_.filters[f]);
        lanes.shared[f] = &(*filter)->shared();
        lanes.filters[f] = &filter_shared_[f];
        parts_[worker]->filters.push_back(std::move(*filter));
    }
    return {};
}

// For packets that are received and cannot go on at once. What runs ahead in one of several
// captures is looked for by the window of its filter.
void Wiring::make_room_to_wait(WorkerIndex worker) {
    WorkerParts& parts = *parts_[worker];
    dataplane::WorkerSetup& setup = setups_[worker];
    const std::size_t sources = parts.sources.size();
    if (!input_.capture_clock) {
        parts.held_back.resize(steers() ? sources : 0);
        setup.receive.held_back = parts.held_back;
        return;
    }
    parts.ahead.resize(sources);
    parts.merge_order.resize(sources);
    for (std::size_t i = 0; sources > 1 && i < sources; ++i) {
        const FilterIndex filter = setup.routes[parts.sources[i].route].filter;
        parts.ahead[i].clock = MergeClock(epoch_jump(setup.lanes.lanes[filter].window));
    }
    setup.merge = {parts.ahead, parts.merge_order};
}

Status Wiring::make_taps(WorkerIndex worker) {
    dataplane::ReportSetup& report = setups_[worker].report;
    const int socket = static_cast<int>(rte_lcore_to_socket_id(plan_.workers[worker].lcore));
    for (std::size_t r = 0; r < plan_.routes.size(); ++r) {
        const RoutePlan& route = plan_.routes[r];
        if (!route.taps) {
            continue;
        }
        auto taps = WorkerTaps::make(*route.taps, socket, input_.hugepages);
        if (!taps) {
            return tl::unexpected(taps.error());
        }
        report.taps[r] = &(*taps)->report();
        report.tap_of[input_.ports[route.from[1]]] = filter::SetOfTwo::kSecond;
        parts_[worker]->taps.push_back(std::move(*taps));
    }
    return {};
}

Status Wiring::make_audits(WorkerIndex worker) {
    WorkerParts& parts = *parts_[worker];
    dataplane::LanesSetup& lanes = setups_[worker].lanes;
    const int socket = static_cast<int>(rte_lcore_to_socket_id(plan_.workers[worker].lcore));
    for (std::size_t f = 0; f < plan_.audits.size(); ++f) {
        const auto params = engines::plan_audit(
            plan_.audit, plan_.filters[f],
            input_.capture_clock ? engines::AuditOf::kCapture : engines::AuditOf::kLive,
            input_.audit_secret->sample);
        if (!params) {
            return tl::unexpected(params.error());
        }
        auto audit = WorkerAudit::make(*params, lanes.lanes[f].key, *input_.audit_secret,
                                       parts.crossings, socket, input_.hugepages);
        if (!audit) {
            return tl::unexpected(audit.error());
        }
        lanes.audits[f] = &(*audit)->stage();
        lanes.crossings = &parts.crossings;
        parts.audits.push_back(std::move(*audit));
    }
    for (PortIndex p = 0; p < plan_.ports.size(); ++p) {
        lanes.port_of[input_.ports[p]] = p;
    }
    return {};
}

Result<rte_ring*> Wiring::new_ring(const char* kind, WorkerIndex from, WorkerIndex to) {
    auto ring = eal::make_ring(
        input_.name + "_" + kind + "_" + std::to_string(from) + "_" + std::to_string(to),
        input_.ring_size);
    if (!ring) {
        return tl::unexpected(ring.error());
    }
    rings_.push_back(std::move(*ring));
    return rings_.back().get();
}

bool Wiring::sends_through(WorkerIndex from, WorkerIndex to) const {
    for (PortIndex p = 0; p < plan_.ports.size(); ++p) {
        if (plan_.ports[p].transmits && plan_.tx_owner(p, from) == to) {
            return true;
        }
    }
    return false;
}

// Fields of a packet that workers read and write beside DPDK's own.
Status Wiring::find_mbuf_fields() {
    if (input_.capture_clock) {
        const auto offset = eal::timestamp_field();
        if (!offset) {
            return tl::unexpected(offset.error());
        }
        for (dataplane::WorkerSetup& setup : setups_) {
            setup.common.timestamp_offset = *offset;
        }
    }
    if (setups_.size() > 1) {
        const auto offset = eal::register_mbuf_field("unecho_tx_tag", sizeof(dataplane::TxTag),
                                                     alignof(dataplane::TxTag));
        if (!offset) {
            return tl::unexpected(offset.error());
        }
        for (dataplane::WorkerSetup& setup : setups_) {
            setup.transmit.tag_offset = *offset;
        }
    }
    return {};
}

Status Wiring::connect() {
    for (WorkerIndex from = 0; from < setups_.size(); ++from) {
        for (WorkerIndex to = 0; to < setups_.size(); ++to) {
            if (from == to) {
                continue;
            }
            if (const Status status = connect_pair(from, to); !status) {
                return status;
            }
        }
    }
    return {};
}

Status Wiring::connect_pair(WorkerIndex from, WorkerIndex to) {
    if (steers()) {
        auto ring = new_ring("steer", from, to);
        if (!ring) {
            return tl::unexpected(ring.error());
        }
        setups_[from].steering.out[to] = *ring;
        setups_[to].steering.in[from] = *ring;
    }
    if (sends_through(from, to)) {
        auto ring = new_ring("tx", from, to);
        if (!ring) {
            return tl::unexpected(ring.error());
        }
        setups_[to].transmit.in[from] = *ring;
        for (PortIndex p = 0; p < plan_.ports.size(); ++p) {
            if (plan_.tx_owner(p, from) == to) {
                setups_[from].transmit.targets[p].ring = *ring;
            }
        }
    }
    return {};
}

std::map<std::uint64_t, std::uint64_t> Wiring::filter_bytes_by_page() const {
    std::map<std::uint64_t, std::uint64_t> bytes;
    for (const auto& parts : parts_) {
        for (const auto& filter : parts->filters) {
            bytes[filter->page_bytes()] += filter->instance().memory().size();
        }
        for (const auto& taps : parts->taps) {
            bytes[taps->page_bytes()] += taps->memory().size();
        }
    }
    return bytes;
}

}  // namespace unecho::control
