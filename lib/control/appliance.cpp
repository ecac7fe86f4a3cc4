// SPDX-License-Identifier: BSD-3-Clause
#include "control/appliance.h"

#include <utility>

#include <rte_cycles.h>
#include <rte_lcore.h>

#include "control/devices.h"
#include "eal/mbuf_fields.h"

namespace unecho::control {
namespace {

Status config_error(const config::Config& config, const std::vector<config::Problem>& problems) {
    return fail(Errc::kConfig, config::to_text(problems, config.path));
}

}  // namespace

Result<std::unique_ptr<Appliance>> Appliance::build(const config::Config& config,
                                                    const ApplianceOptions& options) {
    std::unique_ptr<Appliance> appliance(new Appliance(config));
    Status status = appliance->start_eal(options);
    const auto then = [&](auto step) {
        if (status) {
            status = (appliance.get()->*step)();
        }
    };
    then(&Appliance::open_ports);
    then(&Appliance::make_plan_from_devices);
    then(&Appliance::start_ports);
    then(&Appliance::make_secret);
    then(&Appliance::make_workers);
    if (!status) {
        return tl::unexpected(status.error());
    }
    return appliance;
}

Appliance::~Appliance() {
    // Ports may hold mbufs of the pool, and all of it is DPDK's: ports, rings, pool, session.
    parts_.clear();
    ports_.clear();
    rings_.clear();
    pool_.reset();
    session_.reset();
}

// The lcores do not depend on what the devices can do, so a plan on assumptions has them.
Status Appliance::start_eal(const ApplianceOptions& options) {
    auto plan = make_plan(config_, machine_, assumed_facts(config_));
    if (!plan) {
        return config_error(config_, plan.error());
    }
    eal::SessionOptions session;
    session.args = config_.eal.args;
    session.args.insert(session.args.end(), options.eal_args.begin(), options.eal_args.end());
    session.main_lcore = plan->main_lcore;
    session.lcores = plan->lcore_map;
    session.verbose = options.verbose;
    for (const PortPlan& port : plan->ports) {
        if (port.device.pci) {
            session.pci_devices.push_back(port.device.name);
        }
    }
    auto opened = eal::Session::open(session);
    if (!opened) {
        return tl::unexpected(opened.error());
    }
    session_ = std::make_unique<eal::Session>(std::move(*opened));
    clock_ = dataplane::TscClock::with_frequency(rte_rdtsc(), rte_get_tsc_hz());
    return {};
}

Status Appliance::open_ports() {
    for (const config::Port& port : config_.ports) {
        auto opened = eal::Port::open(port.name, device_of(port));
        if (!opened) {
            return tl::unexpected(opened.error());
        }
        ports_.push_back(std::move(*opened));
    }
    return {};
}

Status Appliance::make_plan_from_devices() {
    std::vector<eal::DeviceFacts> facts;
    for (const eal::Port& port : ports_) {
        auto known = port.facts();
        if (!known) {
            return tl::unexpected(known.error());
        }
        facts.push_back(*known);
    }
    auto plan = make_plan(config_, machine_, facts);
    if (!plan) {
        return config_error(config_, plan.error());
    }
    plan_ = std::move(*plan);
    return {};
}

Status Appliance::start_ports() {
    auto pool = eal::make_mempool(
        {"unecho_mbufs", plan_.mbufs, plan_.data_room, SOCKET_ID_ANY, !session_->has_hugepages()});
    if (!pool) {
        return tl::unexpected(pool.error());
    }
    pool_ = std::move(*pool);
    for (std::size_t i = 0; i < ports_.size(); ++i) {
        if (const Status status = ports_[i].start(plan_.ports[i].setup, pool_.get()); !status) {
            return status;
        }
    }
    return {};
}

Status Appliance::make_secret() {
    if (config_.run.seed) {
        secret_ = hash::secret_from_seed(*config_.run.seed);
        return {};
    }
    auto secret = hash::random_secret();
    if (!secret) {
        return tl::unexpected(secret.error());
    }
    secret_ = *secret;
    return {};
}

Status Appliance::make_workers() {
    filter_shared_ = std::make_unique<dataplane::FilterShared[]>(plan_.filters.size());
    std::vector<dataplane::WorkerSetup> setups(plan_.workers.size());
    for (WorkerIndex w = 0; w < setups.size(); ++w) {
        parts_.push_back(std::make_unique<WorkerParts>());
        fill_tables(w, setups[w]);
        if (const Status status = make_filters(w, setups[w]); !status) {
            return status;
        }
        if (const Status status = make_taps(w, setups[w]); !status) {
            return status;
        }
    }
    if (const Status status = connect(setups); !status) {
        return status;
    }
    for (WorkerIndex w = 0; w < setups.size(); ++w) {
        parts_[w]->worker = std::make_unique<dataplane::Worker>(setups[w]);
    }
    return {};
}

void Appliance::fill_tables(WorkerIndex worker, dataplane::WorkerSetup& setup) {
    WorkerParts& parts = *parts_[worker];
    setup.workers = static_cast<unsigned>(plan_.workers.size());
    setup.self = worker;
    setup.burst = config_.workers.burst;
    setup.steer_by_ring = plan_.steering == Steering::kRing;
    setup.secret = &secret_;
    setup.clock = clock_;
    setup.capture_clock = config_.run.clock == config::Clock::kCapture;
    setup.tx_retry_cycles = static_cast<std::uint64_t>(static_cast<double>(config_.run.tx_retry) *
                                                       static_cast<double>(rte_get_tsc_hz()) / 1e9);
    setup.shared = &parts.shared;
    for (const RxAssignment& rx : plan_.workers[worker].rx) {
        parts.sources.push_back({ports_[rx.port].id(), rx.queue, rx.port});
    }
    setup.sources = parts.sources;
    parts.scratch.resize(dataplane::kScratchBytes);
    setup.scratch = parts.scratch;
    if (setup.capture_clock) {
        parts.staging.resize(parts.sources.size());
        setup.staging = parts.staging;
    }
    for (std::size_t r = 0; r < plan_.routes.size(); ++r) {
        const RoutePlan& route = plan_.routes[r];
        const auto action = route.on_echo == config::OnEcho::kDrop ? dataplane::EchoAction::kDrop
                            : route.on_echo == config::OnEcho::kPass
                                ? dataplane::EchoAction::kPass
                                : dataplane::EchoAction::kDivert;
        setup.routes[r] = {route.filter, route.to, route.divert_to, action, nullptr};
        for (const PortIndex port : route.from) {
            setup.route_of[ports_[port].id()] = static_cast<RouteIndex>(r);
        }
    }
    for (PortIndex p = 0; p < ports_.size(); ++p) {
        setup.tx[p] = {ports_[p].id(), plan_.tx_owner(p, worker), nullptr};
    }
}

Status Appliance::make_filters(WorkerIndex worker, dataplane::WorkerSetup& setup) {
    const int socket = static_cast<int>(rte_lcore_to_socket_id(plan_.workers[worker].lcore));
    setup.filters = static_cast<unsigned>(plan_.filters.size());
    for (std::size_t f = 0; f < plan_.filters.size(); ++f) {
        auto instance = FilterInstance::make(plan_.filters[f], socket, session_->has_hugepages());
        if (!instance) {
            return tl::unexpected(instance.error());
        }
        setup.lanes[f] = (*instance)->lane(plan_.filters[f]);
        setup.lane_shared[f] = &(*instance)->shared();
        setup.filter_shared[f] = &filter_shared_[f];
        parts_[worker]->instances.push_back(std::move(*instance));
    }
    return {};
}

Status Appliance::make_taps(WorkerIndex worker, dataplane::WorkerSetup& setup) {
    const int socket = static_cast<int>(rte_lcore_to_socket_id(plan_.workers[worker].lcore));
    for (std::size_t r = 0; r < plan_.routes.size(); ++r) {
        const RoutePlan& route = plan_.routes[r];
        if (!route.taps) {
            continue;
        }
        auto instance = TapInstance::make(*route.taps, socket, session_->has_hugepages());
        if (!instance) {
            return tl::unexpected(instance.error());
        }
        setup.routes[r].taps = &(*instance)->report();
        setup.reporting[setup.reports++] = static_cast<RouteIndex>(r);
        setup.tap_of[ports_[route.from[1]].id()] = filter::SetOfTwo::kSecond;
        parts_[worker]->taps.push_back(std::move(*instance));
    }
    return {};
}

Result<rte_ring*> Appliance::new_ring(const char* kind, WorkerIndex from, WorkerIndex to) {
    auto ring = eal::make_ring(
        std::string("unecho_") + kind + "_" + std::to_string(from) + "_" + std::to_string(to),
        config_.workers.ring_size);
    if (!ring) {
        return tl::unexpected(ring.error());
    }
    rings_.push_back(std::move(*ring));
    return rings_.back().get();
}

bool Appliance::sends_through(WorkerIndex from, WorkerIndex to) const {
    for (PortIndex p = 0; p < plan_.ports.size(); ++p) {
        if (plan_.ports[p].transmits && plan_.tx_owner(p, from) == to) {
            return true;
        }
    }
    return false;
}

Status Appliance::connect(std::vector<dataplane::WorkerSetup>& setups) {
    const bool capture = config_.run.clock == config::Clock::kCapture;
    if (capture) {
        auto offset = eal::timestamp_field();
        if (!offset) {
            return tl::unexpected(offset.error());
        }
        for (dataplane::WorkerSetup& setup : setups) {
            setup.timestamp_offset = *offset;
        }
    }
    if (setups.size() == 1) {
        return {};
    }
    auto offset = eal::register_mbuf_field("unecho_tx_tag", sizeof(dataplane::TxTag),
                                           alignof(dataplane::TxTag));
    if (!offset) {
        return tl::unexpected(offset.error());
    }
    for (dataplane::WorkerSetup& setup : setups) {
        setup.tag_offset = *offset;
    }
    for (WorkerIndex from = 0; from < setups.size(); ++from) {
        for (WorkerIndex to = 0; to < setups.size(); ++to) {
            if (from == to) {
                continue;
            }
            if (const Status status = connect_pair(from, to, setups); !status) {
                return status;
            }
        }
    }
    return {};
}

Status Appliance::connect_pair(WorkerIndex from, WorkerIndex to,
                               std::vector<dataplane::WorkerSetup>& setups) {
    if (plan_.steering == Steering::kRing) {
        auto ring = new_ring("steer", from, to);
        if (!ring) {
            return tl::unexpected(ring.error());
        }
        setups[from].steer_out[to] = *ring;
        setups[to].steer_in[from] = *ring;
    }
    if (sends_through(from, to)) {
        auto ring = new_ring("tx", from, to);
        if (!ring) {
            return tl::unexpected(ring.error());
        }
        setups[to].tx_in[from] = *ring;
        for (PortIndex p = 0; p < plan_.ports.size(); ++p) {
            if (plan_.tx_owner(p, from) == to) {
                setups[from].tx[p].ring = *ring;
            }
        }
    }
    return {};
}

std::map<std::uint64_t, std::uint64_t> Appliance::filter_bytes_by_page() const {
    std::map<std::uint64_t, std::uint64_t> bytes;
    for (const auto& parts : parts_) {
        for (const auto& instance : parts->instances) {
            bytes[instance->page_bytes()] += instance->memory().size();
        }
        for (const auto& instance : parts->taps) {
            bytes[instance->page_bytes()] += instance->memory().size();
        }
    }
    return bytes;
}

}  // namespace unecho::control
