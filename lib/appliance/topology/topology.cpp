// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/topology/topology.h"

#include <algorithm>
#include <set>
#include <utility>

#include "appliance/eal/ports/mbuf_fields.h"

namespace unecho::appliance {
namespace {

using dataplane::FilterStageSetup;
using dataplane::RxQueue;
using dataplane::RxQueueState;

bool is_place_of_a_route(const Plan& plan, RouteIndex place) {
    for (std::size_t r = 0; r < plan.routes.size(); ++r) {
        if (plan.route_place(r) == place) {
            return true;
        }
    }
    return false;
}

// Return true if packets may be underway between workers to routes that the new plan lacks.
bool loses_routes(const WorkerConfigSet& from, const Plan& to) {
    for (std::size_t r = 0; r < from.plan->routes.size(); ++r) {
        if (!is_place_of_a_route(to, from.plan->route_place(r))) {
            return true;
        }
    }
    return false;
}

// Return true if the setup has filters that its plan does not name: those of packets underway, and
// predecessors of filters being warmed.
bool holds_unnamed(const WorkerConfigSet& setup) {
    const auto held = std::count_if(setup.filters.begin(), setup.filters.end(),
                                    [](const auto& filter) { return filter != nullptr; });
    return static_cast<std::size_t>(held) > setup.plan->filters.size();
}

// Return true if each two workers have a ring for packets to decide.
bool steers(const Plan& plan, const TopologyInput& input) {
    return plan.steering == SteeringMode::kRing || input.card != nullptr;
}

std::array<bool, kMaxFilters> named_places(const Plan& plan) {
    std::array<bool, kMaxFilters> named{};
    for (std::size_t f = 0; f < plan.filters.size(); ++f) {
        named[plan.filter_place(f)] = true;
    }
    return named;
}

// Return the filters, audits and tap reports that know their whole window while workers use this
// setup.
std::set<const void*> standing(const WorkerConfigSet& setup) {
    std::set<const void*> out;
    const std::array<bool, kMaxFilters> named = named_places(*setup.plan);
    for (FilterIndex place = 0; place < kMaxFilters; ++place) {
        // planted: warming-filter-outlives-process
        if (named[place] && setup.before[place] == FilterStageSetup::kNoFilter) {
            out.insert(setup.filters[place].get());
            out.insert(setup.audits[place].get());
        }
    }
    for (const auto& taps : setup.taps) {
        out.insert(taps.get());
    }
    return out;
}

// Mark what a successor process may resume.
template <typename Stands>
void keep(const WorkerConfigSet& setup, Stands stands) {
    const auto each = [&](const auto& sets, const auto& workers_of) {
        for (const auto& set : sets) {
            if (set != nullptr) {
                for (const auto& worker : workers_of(*set)) {
                    worker->keep(stands(set.get()));
                }
            }
        }
    };
    each(
        setup.filters, [](const FilterSet& set) -> const auto& { return set.workers; });
    each(
        setup.audits, [](const AuditSet& set) -> const auto& { return set; });
    each(
        setup.taps, [](const TapSet& set) -> const auto& { return set; });
}

}  // namespace

Result<std::unique_ptr<Topology>> Topology::make(const TopologyInput& input) {
    std::unique_ptr<Topology> topology(new Topology(input));
    UNECHO_TRY(topology->find_mbuf_fields());
    // The caller owns the plan.
    const std::shared_ptr<const Plan> plan(std::shared_ptr<const Plan>(), input.plan);
    auto setup =
        topology->make_setup({.plan = plan,
                              .filters = std::vector(plan->filters.size(), FilterChange::kNew),
                              .judge_anew = std::vector(plan->filters.size(), false),
                              .audit_anew = std::vector(plan->filters.size(), true),
                              .tx_retry_cycles = input.tx_retry_cycles},
                             nullptr);
    UNECHO_TRY(setup);
    topology->present_ = std::move(*setup);
    keep(*topology->present_, [](const void*) { return true; });
    for (std::size_t w = 0; w < topology->parts_.size(); ++w) {
        topology->parts_[w]->worker =
            std::make_unique<dataplane::Worker>(topology->present_->workers[w]);
    }
    return topology;
}

Topology::Topology(const TopologyInput& input)
    : input_(input),
      rings_(input.plan->workers.size(), input.name, input.ring_size),
      tx_retry_cycles_(input.tx_retry_cycles),
      parts_(make_parts(input)),
      memory_(input_, places_of(*input.plan, parts_)) {
    for (std::size_t f = 0; f < input.plan->roots.size(); ++f) {
        if (input.plan->roots[f] != nullptr) {
            SharedFlowsLinks& links = shared_flows_[input.plan->filters[f].name];
            for (std::size_t w = 0; w < parts_.size(); ++w) {
                links.push_back(std::make_unique<dataplane::SharedFlowsLink>());
            }
        }
    }
}

// Reserve a backlog for every rx queue there is: a reload may change which ports receive.
Topology::AllParts Topology::make_parts(const TopologyInput& input) {
    std::size_t queues = 0;
    for (const PortPlan& port : input.plan->ports) {
        queues += port.setup.rx_queues;
    }
    AllParts all;
    for (const WorkerPlan& worker : input.plan->workers) {
        all.push_back(std::make_unique<WorkerParts>());
        WorkerParts& parts = *all.back();
        parts.scratch.resize(dataplane::kScratchBytes);
        if (input.capture_clock) {
            parts.ahead.resize(worker.rx.size());
            parts.merge_order.resize(worker.rx.size());
        } else if (steers(*input.plan, input)) {
            parts.backlog.resize(std::max(queues, worker.rx.size()));
        }
    }
    return all;
}

std::vector<WorkerMemoryFactory::Worker> Topology::places_of(const Plan& plan,
                                                             const AllParts& parts) {
    std::vector<WorkerMemoryFactory::Worker> out;
    for (std::size_t w = 0; w < parts.size(); ++w) {
        out.push_back({plan.workers[w].lcore, &parts[w]->crossings});
    }
    return out;
}

Status Topology::find_mbuf_fields() {
    if (input_.capture_clock) {
        const auto offset = eal::timestamp_field();
        UNECHO_TRY(offset);
        timestamp_offset_ = *offset;
    }
    if (parts_.size() > 1) {
        const auto offset = eal::register_mbuf_field("unecho_tx_tag", sizeof(dataplane::TxTag),
                                                     alignof(dataplane::TxTag));
        UNECHO_TRY(offset);
        tag_offset_ = *offset;
    }
    return {};
}

Result<std::unique_ptr<WorkerConfigSet>> Topology::make_setup(const ConfigDiff& change,
                                                              const WorkerConfigSet* from) {
    auto setup = std::make_unique<WorkerConfigSet>();
    setup->plan = change.plan;
    setup->workers.resize(parts_.size());
    setup->sources.resize(parts_.size());
    tx_retry_cycles_ = change.tx_retry_cycles;
    UNECHO_TRY(rings_.connect(*change.plan, steers(*change.plan, input_)));
    UNECHO_TRY(memory_.fill(*setup, change, from));
    for (WorkerIndex w = 0; w < parts_.size(); ++w) {
        fill_common(*setup, w);
        fill_sources(*setup, from, w);
        fill_routes(*setup, from, w);
        fill_ways(*setup, w);
        fill_filters(*setup, w);
        fill_roots(*setup, w);
        fill_taps(*setup, w);
        make_room_to_wait(*setup, w);
    }
    return setup;
}

void Topology::fill_common(WorkerConfigSet& setup, WorkerIndex worker) {
    WorkerParts& parts = *parts_[worker];
    dataplane::WorkerSetup& out = setup.workers[worker];
    out.common.burst = input_.burst;
    out.common.secret = input_.secret;
    out.common.clock = input_.clock;
    out.common.capture_clock = input_.capture_clock;
    out.common.timestamp_offset = timestamp_offset_;
    out.report.shared = &parts.shared;
    out.scratch = parts.scratch;
}

// A queue keeps its index at the worker. It closes when no route names its port any more.
void Topology::fill_sources(WorkerConfigSet& setup, const WorkerConfigSet* from,
                            WorkerIndex worker) const {
    const Plan& plan = *setup.plan;
    std::vector<RxQueue>& sources = setup.sources[worker];
    if (from != nullptr) {
        sources = from->sources[worker];
        for (RxQueue& source : sources) {
            source.state = source.state == RxQueueState::kClosed ? RxQueueState::kClosed
                                                                 : RxQueueState::kClosing;
        }
    }
    for (const RxAssignment& rx : plan.workers[worker].rx) {
        const RxQueue source{input_.ports[rx.port], rx.queue, rx.port,
                             plan.ports[rx.port].setup.rx_descriptors, plan.route_place(rx.route)};
        const auto known = std::find_if(sources.begin(), sources.end(), [&](const RxQueue& one) {
            return one.port == source.port && one.queue == source.queue;
        });
        if (known == sources.end()) {
            sources.push_back(source);
        } else {
            *known = source;
        }
    }
    setup.workers[worker].receive.sources = sources;
    setup.workers[worker].profiler = {plan.stall_threshold, sources};
}

// Routes of the previous plan stay until no packet is underway to them.
void Topology::fill_routes(WorkerConfigSet& setup, const WorkerConfigSet* from,
                           WorkerIndex worker) const {
    dataplane::WorkerSetup& out = setup.workers[worker];
    if (from != nullptr) {
        out.routes = from->workers[worker].routes;
    }
    for (std::size_t r = 0; r < setup.plan->routes.size(); ++r) {
        const RoutePlan& route = setup.plan->routes[r];
        out.routes[setup.plan->route_place(r)] = {setup.plan->filter_place(route.filter), route.to,
                                                  route.divert_to, route.on_echo};
    }
}

// Fill in the paths to other workers and to ports.
void Topology::fill_ways(WorkerConfigSet& setup, WorkerIndex worker) {
    dataplane::WorkerSetup& out = setup.workers[worker];
    const Plan& plan = *setup.plan;
    out.steering.by_ring = plan.steering == SteeringMode::kRing;
    out.steering.card = out.steering.by_ring ? nullptr : input_.card;
    out.steering.workers = static_cast<unsigned>(parts_.size());
    out.steering.self = worker;
    out.transmit.retry_cycles = tx_retry_cycles_;
    out.transmit.tag_offset = tag_offset_;
    for (WorkerIndex other = 0; other < parts_.size(); ++other) {
        out.steering.out[other] = rings_.deciding(worker, other);
        out.steering.in[other] = rings_.deciding(other, worker);
        out.transmit.in[other] = rings_.sending(other, worker);
    }
    for (PortIndex p = 0; p < plan.ports.size(); ++p) {
        const WorkerIndex owner = plan.tx_owner(p, worker);
        out.transmit.targets[p] = {input_.ports[p], owner,
                                   owner == worker ? nullptr : rings_.sending(worker, owner)};
    }
}

void Topology::fill_filters(WorkerConfigSet& setup, WorkerIndex worker) {
    FilterStageSetup& filters = setup.workers[worker].filters;
    for (unsigned place = 0; place < kMaxFilters; ++place) {
        const std::shared_ptr<FilterSet>& filter = setup.filters[place];
        if (filter == nullptr) {
            continue;
        }
        filters.count = place + 1;
        filters.contexts[place] = filter->contexts[worker];
        if (setup.confidence_policies[place] != nullptr) {
            ConfidencePolicySet& confidence_policies = *setup.confidence_policies[place];
            filters.contexts[place].confidence =
                confidence_policies.empty() ? nullptr : &confidence_policies[worker];
        }
        if (filters.contexts[place].repeats != nullptr) {
            filters.contexts[place].answers = &parts_[worker]->answers;
            filters.answers = &parts_[worker]->answers;
        }
        filters.shared[place] = &filter->workers[worker]->shared();
        filters.filters[place] = &filter->shared;
        filters.before[place] = setup.before[place];
        if (setup.audits[place] != nullptr) {
            filters.audits[place] = &(*setup.audits[place])[worker]->stage();
            filters.crossings = &parts_[worker]->crossings;
        }
    }
    for (std::size_t f = 0; f < setup.plan->filters.size(); ++f) {
        filters.keep_counters_mask |= std::uint32_t{1} << setup.plan->filter_place(f);
    }
    filters.worker_time = setup.warms() ? &parts_[worker]->shared.time : nullptr;
    for (PortIndex p = 0; p < setup.plan->ports.size(); ++p) {
        filters.port_of[input_.ports[p]] = p;
        filters.groups[p] = setup.plan->ports[p].group;
    }
}

void Topology::fill_roots(WorkerConfigSet& setup, WorkerIndex worker) const {
    FilterStageSetup& filters = setup.workers[worker].filters;
    const Plan& plan = *setup.plan;
    for (std::size_t f = 0; f < plan.roots.size(); ++f) {
        const auto links = shared_flows_.find(plan.filters[f].name);
        if (plan.roots[f] != nullptr && links != shared_flows_.end()) {
            filters.roots[plan.filter_place(f)] = links->second[worker].get();
            filters.root_secrets[plan.filter_place(f)] = &plan.roots[f]->secret;
        }
    }
}

void Topology::fill_taps(WorkerConfigSet& setup, WorkerIndex worker) const {
    dataplane::ReportSetup& report = setup.workers[worker].report;
    for (std::size_t r = 0; r < setup.plan->routes.size(); ++r) {
        const RouteIndex place = setup.plan->route_place(r);
        if (setup.taps[place] != nullptr) {
            report.taps[place] = &(*setup.taps[place])[worker]->report();
            report.tap_of[input_.ports[setup.plan->routes[r].from[1]]] = filter::SetOfTwo::kSecond;
        }
    }
}

// Give the worker its memory for packets that cannot be processed at once. In a merge of captures,
// the window of a source's filter decides which timestamps are outliers.
void Topology::make_room_to_wait(WorkerConfigSet& setup, WorkerIndex worker) {
    WorkerParts& parts = *parts_[worker];
    dataplane::WorkerSetup& out = setup.workers[worker];
    out.receive.backlog = parts.backlog;
    const std::vector<RxQueue>& sources = setup.sources[worker];
    for (std::size_t i = 0; parts.ahead.size() > 1 && i < parts.ahead.size(); ++i) {
        const FilterIndex filter = out.routes[sources[i].route].filter;
        parts.ahead[i].clock = MergeClock(epoch_jump(out.filters.contexts[filter].window));
    }
    out.merge = {parts.ahead, parts.merge_order};
}

std::map<std::uint64_t, std::uint64_t> Topology::filter_bytes_by_page() const {
    std::map<std::uint64_t, std::uint64_t> bytes;
    for (const auto& set : present_->filters) {
        for (std::size_t w = 0; set != nullptr && w < set->workers.size(); ++w) {
            bytes[set->workers[w]->page_bytes()] += set->workers[w]->instance().memory().size();
        }
    }
    for (const auto& set : present_->taps) {
        for (std::size_t w = 0; set != nullptr && w < set->size(); ++w) {
            bytes[(*set)[w]->page_bytes()] += (*set)[w]->memory().size();
        }
    }
    return bytes;
}

std::array<std::vector<std::shared_ptr<const pipeline::PathTotals>>, kMaxFilters>
Topology::path_totals() const {
    std::array<std::vector<std::shared_ptr<const pipeline::PathTotals>>, kMaxFilters> out;
    for (FilterIndex place = 0; place < kMaxFilters; ++place) {
        for (std::size_t w = 0; present_->audits[place] != nullptr && w < workers(); ++w) {
            if (auto totals = (*present_->audits[place])[w]->paths()) {
                out[place].push_back(std::move(totals));
            }
        }
    }
    return out;
}

// --- reload ------------------------------------------------------------------------------------

Result<ConfigTransition> Topology::prepare(const ConfigDiff& change) {
    auto first = make_setup(change, present_.get());
    UNECHO_TRY(first);
    ConfigTransition steps;
    steps.first = std::move(*first);
    for (std::size_t f = 0; f < change.plan->filters.size(); ++f) {
        if (change.filters[f] == FilterChange::kWarmed) {
            const engines::FilterPlan& filter = change.plan->filters[f];
            steps.warming =
                std::max(steps.warming, filter.window + filter.prediction.slack +
                                            std::max<Nanoseconds>(filter.clock.length, 1));
        }
    }
    steps.drains = parts_.size() > 1 && loses_routes(*present_, *change.plan);
    bool closes = false;
    for (const std::vector<RxQueue>& sources : steps.first->sources) {
        closes |= std::any_of(sources.begin(), sources.end(), [](const RxQueue& source) {
            return source.state == RxQueueState::kClosing;
        });
    }
    if (steps.drains || closes || holds_unnamed(*steps.first)) {
        steps.last = last_of(*steps.first);
    }
    return steps;
}

// Return the setup without what its plan does not name.
std::unique_ptr<WorkerConfigSet> Topology::last_of(const WorkerConfigSet& first) {
    auto last = std::make_unique<WorkerConfigSet>(first);
    const std::array<bool, kMaxFilters> named = named_places(*last->plan);
    last->before = FilterStageSetup::no_predecessors();
    for (std::size_t place = 0; place < kMaxFilters; ++place) {
        if (!named[place]) {
            last->filters[place] = nullptr;
            last->confidence_policies[place] = nullptr;
        }
    }
    for (std::size_t w = 0; w < last->workers.size(); ++w) {
        for (RxQueue& source : last->sources[w]) {
            if (source.state == RxQueueState::kClosing) {
                source.state = RxQueueState::kClosed;
            }
        }
        dataplane::WorkerSetup& out = last->workers[w];
        out.receive.sources = last->sources[w];
        out.profiler.sources = last->sources[w];
        out.filters.before = last->before;
        out.filters.worker_time = nullptr;
        out.filters.count = 0;
        for (unsigned place = 0; place < kMaxFilters; ++place) {
            if (named[place]) {
                out.filters.count = place + 1;
            } else {
                out.filters.contexts[place] = {};
                out.filters.shared[place] = nullptr;
                out.filters.filters[place] = nullptr;
            }
        }
    }
    return last;
}

// A successor process may resume a filter only if it is fully warmed and sees all packets. When one
// filter takes another's place, neither is so: the new one lacks what came before, the old one what
// comes next. Therefore first unmark what leaves, then publish, then mark.
std::unique_ptr<WorkerConfigSet> Topology::publish(std::unique_ptr<WorkerConfigSet> setup) {
    const std::set<const void*> stays = standing(*setup);
    keep(*present_, [&](const void* set) { return stays.count(set) != 0; });
    for (std::size_t w = 0; w < parts_.size(); ++w) {
        parts_[w]->shared.setup.store(&setup->workers[w], std::memory_order_release);
    }
    keep(*setup, [&](const void* set) { return stays.count(set) != 0; });
    return std::exchange(present_, std::move(setup));
}

bool Topology::adopted() const {
    for (std::size_t w = 0; w < parts_.size(); ++w) {
        const dataplane::WorkerShared& shared = parts_[w]->shared;
        if (shared.adopted.load(std::memory_order_acquire) !=
            shared.setup.load(std::memory_order_relaxed)) {
            return false;
        }
    }
    return true;
}

}  // namespace unecho::appliance
