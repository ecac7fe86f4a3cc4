// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/appliance.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <isa-l/crc64.h>
#include <rte_cycles.h>
#include <sys/mman.h>

#include "appliance/plan/devices.h"
#include "appliance/plan/host.h"
#include "appliance/timers/sleep_backoff.h"
#include "appliance/topology/port_start.h"
#include "appliance/topology/shared_flows_feed.h"
#include "base/os/errno_code.h"
#include "base/os/user_group.h"

namespace unecho::appliance {
namespace {

// Return a text that identifies how packets are assigned to workers, apart from the secret. A warm
// restart compares it.
std::string owner_text(const Plan& plan, const std::optional<dataplane::RssModel>& card) {
    if (!card) {
        return plan.steering == SteeringMode::kRing ? "rings" : "one";
    }
    std::string text = "cards";
    const auto add = [&text](std::uint64_t number) { text += " " + std::to_string(number); };
    std::for_each(card->key.begin(), card->key.end(), add);
    add(card->types);
    add(crc64_ecma_refl(0, reinterpret_cast<const std::uint8_t*>(card->table.data()),
                        card->entries));
    add(card->fragments_by_ports ? 1 : 0);
    add(card->frames_have_keys ? 1 : 0);
    return text;
}

// Keep what is allocated by now in RAM, as far as it is or will be used.
Status lock_memory(const config::Config& config) {
    if (!config.run.lock_memory || ::mlockall(MCL_CURRENT | MCL_ONFAULT) == 0) {
        return {};
    }
    const int number = errno;
    return fail(
        errc_from_errno(number),
        fmt::format("{}: run.lock_memory: memory cannot be locked: {}; allowed: with CAP_IPC_LOCK "
                    "or without a limit (ulimit -l unlimited, LimitMEMLOCK=infinity), or false",
                    config.path, std::strerror(number)));
}

// How long the start waits for a shared flow store that is required.
constexpr Nanoseconds kRootPatience = 5 * kSecond;

}  // namespace

std::string name_on_host(const config::Config& config) {
    eal::SessionOptions session;
    session.name = config.run.name;
    session.args = config.eal.args;
    return eal::name_on_host(session);
}

Result<std::unique_ptr<Appliance>> Appliance::build(const config::Config& config,
                                                    const ApplianceOptions& options) {
    std::unique_ptr<Appliance> appliance(new Appliance(config));
    UNECHO_TRY(appliance->start_eal(options));
    UNECHO_TRY(appliance->open_ports());
    UNECHO_TRY(appliance->bring_up_ports());
    UNECHO_TRY(appliance->open_state());
    UNECHO_TRY(appliance->make_secret());
    UNECHO_TRY(appliance->make_clock());
    UNECHO_TRY(appliance->make_workers());
    UNECHO_TRY(appliance->start_shared_flows());
    UNECHO_TRY(appliance->end_start_of_state());
    UNECHO_TRY(lock_memory(config));
    return appliance;
}

Appliance::~Appliance() {
    if (state_ != nullptr) {
        state_->remove_unused_files(false);
    }
    shared_flows_.clear();  // their threads use the workers' queues
    // Ports may hold mbufs of the pool, and all are DPDK's: release ports, rings, pool, then the
    // session.
    topology_.reset();
    ports_.clear();
    pool_.reset();
    session_.reset();
}

// A plan on assumed devices suffices to start DPDK: lcores do not depend on what devices can do.
Status Appliance::start_eal(const ApplianceOptions& options) {
    started_ = read_clocks();
    auto plan = make_plan(config_, machine_, assumed_device_info(config_));
    if (!plan) {
        return tl::unexpected(config::as_error(plan.error(), config_.path));
    }
    if (const auto& group = config_.run.telemetry_group) {
        auto found = group_named(*group);
        if (!found) {
            return fail(found.error().code, fmt::format("{}: run.telemetry_group: {}", config_.path,
                                                        found.error().context));
        }
        telemetry_group_ = *found;
    }
    eal::SessionOptions session;
    session.name = config_.run.name;
    session.args = config_.eal.args;
    session.args.insert(session.args.end(), options.eal_args.begin(), options.eal_args.end());
    if (Status host = check_host(*plan, session.args); !host) {
        return host;
    }
    session.main_lcore = plan->main_lcore;
    session.lcores = plan->lcore_map;
    session.verbose = options.verbose;
    for (const PortPlan& port : plan->ports) {
        if (port.device.is_pci()) {
            session.pci_devices.push_back(port.device.name);
        }
    }
    // A replay is not monitored, so the name of its telemetry socket may be taken.
    name_is_taken_ = config_.run.clock == config::Clock::kTsc && eal::is_name_taken(session);
    if (name_is_taken_ && telemetry_group_) {
        return fail(Errc::kBusy, eal::taken_text(session.name));
    }
    auto opened = eal::Session::open(session);
    UNECHO_TRY(opened);
    session_ = std::make_unique<eal::Session>(std::move(*opened));
    if (telemetry_group_) {
        auto listening = eal::MonitorSocket::open(*telemetry_group_);
        UNECHO_TRY(listening);
        monitor_socket_.emplace(std::move(*listening));
    }
    return {};
}

Status Appliance::check_host(const Plan& plan, std::vector<std::string>& eal_args) {
    const Host host = Host::detect(config_);
    const std::vector<std::string> memory = ordinary_memory_args(plan, host.memory, eal_args);
    eal_args.insert(eal_args.end(), memory.begin(), memory.end());
    if (!memory.empty()) {
        std::string text;
        for (const std::string& arg : memory) {
            text += " " + arg;
        }
        host_notes_.push_back("this host has no hugepages: ordinary pages are used, as with --" +
                              text);
    }
    std::vector<config::Problem> fatal;
    for (HostProblem& found : host_problems(config_, plan, host, eal_args)) {
        if (found.prevents_start) {
            fatal.push_back(std::move(found.problem));
        } else {
            host_notes_.push_back(fmt::format("{}: {}", found.problem.key, found.problem.message));
        }
    }
    if (fatal.empty()) {
        return {};
    }
    // The service manager tries again: an interface may come later.
    return fail(Errc::kNotFound, config::as_error(fatal, config_.path).context);
}

Status Appliance::open_ports() {
    for (const config::Port& port : config_.ports) {
        auto opened = eal::Port::open(port.name, device_of(port));
        UNECHO_TRY(opened);
        ports_.push_back(std::move(*opened));
    }
    return {};
}

Status Appliance::bring_up_ports() {
    std::vector<eal::DeviceInfo> facts;
    for (const eal::Port& port : ports_) {
        auto known = port.facts();
        UNECHO_TRY(known);
        facts.push_back(*known);
    }
    const auto make_pool = [&](const Plan& plan) -> Result<rte_mempool*> {
        auto pool = eal::make_mempool({"unecho_mbufs", plan.mbufs, plan.data_room, SOCKET_ID_ANY,
                                       !session_->has_hugepages()});
        UNECHO_TRY(pool);
        pool_ = std::move(*pool);
        return pool_.get();
    };
    auto started = start_ports(config_, machine_, std::move(facts), ports_, make_pool);
    UNECHO_TRY(started);
    plan_ = std::move(started->plan);
    plan_.notes.insert(plan_.notes.begin(), host_notes_.begin(), host_notes_.end());
    if (name_is_taken_) {
        plan_.notes.push_back(eal::taken_text(plan_.name) + ": its telemetry hides this one's");
    }
    card_ = started->card;
    return {};
}

Status Appliance::open_state() {
    if (!plan_.state_dir) {
        return {};
    }
    auto opened =
        WarmRestartStore::open(*plan_.state_dir, plan_, owner_text(plan_, card_), config_.run.seed);
    if (!opened) {
        return fail(opened.error().code,
                    fmt::format("{}: state.dir: {}", config_.path, opened.error().context));
    }
    state_ = std::move(*opened);
    plan_.notes.insert(plan_.notes.end(), state_->notes().begin(), state_->notes().end());
    return {};
}

Status Appliance::end_start_of_state() {
    if (state_ == nullptr) {
        return {};
    }
    state_->remove_unused_files(true);
    return state_->end_start();
}

Status Appliance::make_secret() {
    if (state_ != nullptr && state_->base()) {
        secret_ = state_->base()->secret;
        audit_secret_ = state_->base()->audit_secret;
        return {};
    }
    if (config_.run.seed) {
        secret_ = hash::secret_from_seed(*config_.run.seed);
        audit_secret_ = pipeline::audit_secret_from(*config_.run.seed);
        return {};
    }
    auto secret = hash::random_secret();
    auto seed = hash::random_secret();
    UNECHO_TRY(secret);
    UNECHO_TRY(seed);
    secret_ = *secret;
    audit_secret_ = pipeline::audit_secret_from(seed->ends[0]);
    return {};
}

void Appliance::close_ports(const Log& log) {
    for (eal::Port& port : ports_) {
        if (const Status closed = port.close(); !closed) {
            log({Severity::kWarning, "port", closed.error().context});
        }
    }
    ports_.clear();
}

std::uint64_t Appliance::cycles_of(Nanoseconds time) {
    return static_cast<std::uint64_t>(static_cast<double>(time) *
                                      static_cast<double>(rte_get_tsc_hz()) / 1e9);
}

// Measure as long as possible after the first reading: most of the start lies between the two.
Status Appliance::make_clock() {
    if (state_ != nullptr && state_->base()) {
        clock_ = state_->base()->clock;
        return {};
    }
    ClockReading now = read_clocks();
    if (now.time - started_.time < kRateBaseline) {
        sleep_for(kRateBaseline - (now.time - started_.time));
        now = read_clocks();
    }
    clock_ = measured_clock(started_, now);
    if (state_ != nullptr) {
        state_->begin({clock_, secret_, audit_secret_});
    }
    return {};
}

Status Appliance::make_workers() {
    TopologyInput input;
    input.plan = &plan_;
    for (const eal::Port& port : ports_) {
        input.ports.push_back(port.id());
    }
    input.secret = &secret_;
    input.audit_secret = &audit_secret_;
    input.clock = clock_;
    input.burst = config_.workers.burst;
    input.ring_size = config_.workers.ring_size;
    input.capture_clock = config_.run.clock == config::Clock::kCapture;
    input.tx_retry_cycles = cycles_of(config_.run.tx_retry);
    input.hugepages = session_->has_hugepages();
    input.card = card_ ? &*card_ : nullptr;
    input.state = state_.get();
    auto topology = Topology::make(input);
    UNECHO_TRY(topology);
    topology_ = std::move(*topology);
    return {};
}

Status Appliance::start_shared_flows() {
    for (std::size_t f = 0; f < plan_.roots.size(); ++f) {
        const std::shared_ptr<const SharedFlowsPlan>& planned = plan_.roots[f];
        if (planned == nullptr) {
            continue;
        }
        const std::string& filter = plan_.filters[f].name;
        std::vector<shared_flows::FlowFeed*> feeds;
        for (const auto& link : topology_->shared_flows_links(filter)) {
            feeds_.push_back(std::make_unique<SharedFlowsFeed>(*link));
            feeds.push_back(feeds_.back().get());
        }
        auto started = shared_flows::SharedFlows::start(
            planned->layout, planned->asker, std::move(feeds),
            planned->required ? std::optional(kRootPatience) : std::nullopt);
        if (!started) {
            return fail(started.error().code, fmt::format("{}: filter[{}].root: {}", config_.path,
                                                          f, started.error().context));
        }
        shared_flows_[filter] = std::move(*started);
    }
    return {};
}

shared_flows::SharedFlows* Appliance::root(const std::string& filter) const {
    const auto found = shared_flows_.find(filter);
    return found == shared_flows_.end() ? nullptr : found->second.get();
}

}  // namespace unecho::appliance
