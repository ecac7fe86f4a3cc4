// SPDX-License-Identifier: BSD-3-Clause
#include "control/wiring.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <rte_lcore.h>

#include "base/memory_node.h"
#include "dataplane/ring_room.h"
#include "eal/mbuf_fields.h"

namespace unecho::control {
namespace {

using dataplane::LanesSetup;
using dataplane::RxSource;
using dataplane::SourceState;

bool is_place_of_a_route(const Plan& plan, RouteIndex place) {
    for (std::size_t r = 0; r < plan.routes.size(); ++r) {
        if (plan.route_place(r) == place) {
            return true;
        }
    }
    return false;
}

// Packets may be on their way between two workers to routes that another plan has no more.
bool loses_routes(const WiringSetup& from, const Plan& to) {
    for (std::size_t r = 0; r < from.plan->routes.size(); ++r) {
        if (!is_place_of_a_route(to, from.plan->route_place(r))) {
            return true;
        }
    }
    return false;
}

// Filters that are there for what is underway, or to be asked while another one is warmed.
bool holds_unnamed(const WiringSetup& setup) {
    const auto held = std::count_if(setup.filters.begin(), setup.filters.end(),
                                    [](const auto& filter) { return filter != nullptr; });
    return static_cast<std::size_t>(held) > setup.plan->filters.size();
}

std::array<bool, kMaxFilters> named_places(const Plan& plan) {
    std::array<bool, kMaxFilters> named{};
    for (std::size_t f = 0; f < plan.filters.size(); ++f) {
        named[plan.filter_place(f)] = true;
    }
    return named;
}

// The filters, audits and reports that know all that they should, as long as workers have this.
std::set<const void*> standing(const WiringSetup& setup) {
    std::set<const void*> out;
    const std::array<bool, kMaxFilters> named = named_places(*setup.plan);
    for (FilterIndex place = 0; place < kMaxFilters; ++place) {
        if (named[place] && setup.before[place] == LanesSetup::kNoFilter) {
            out.insert(setup.filters[place].get());
            out.insert(setup.audits[place].get());
        }
    }
    for (const auto& taps : setup.taps) {
        out.insert(taps.get());
    }
    return out;
}

// What outlives the process of them.
template <typename Stands>
void keep(const WiringSetup& setup, Stands stands) {
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

std::optional<FilterIndex> free_place(const WiringSetup& setup) {
    for (FilterIndex place = 0; place < kMaxFilters; ++place) {
        if (setup.filters[place] == nullptr) {
            return place;
        }
    }
    return std::nullopt;
}

}  // namespace

bool WiringSetup::warms() const {
    return before != LanesSetup::none_before();
}

Result<std::unique_ptr<Wiring>> Wiring::make(const WiringInput& input) {
    std::unique_ptr<Wiring> wiring(new Wiring(input));
    if (const Status found = wiring->make_parts(); !found) {
        return tl::unexpected(found.error());
    }
    // The plan is the caller's.
    const std::shared_ptr<const Plan> plan(std::shared_ptr<const Plan>(), input.plan);
    auto setup =
        wiring->make_setup({.plan = plan,
                            .filters = std::vector(plan->filters.size(), FilterChange::kNew),
                            .judge_anew = std::vector(plan->filters.size(), false),
                            .audit_anew = std::vector(plan->filters.size(), true),
                            .tx_retry_cycles = input.tx_retry_cycles},
                           nullptr);
    if (!setup) {
        return tl::unexpected(setup.error());
    }
    wiring->present_ = std::move(*setup);
    keep(*wiring->present_, [](const void*) { return true; });
    for (std::size_t w = 0; w < wiring->parts_.size(); ++w) {
        wiring->parts_[w]->worker =
            std::make_unique<dataplane::Worker>(wiring->present_->workers[w]);
    }
    return wiring;
}

Wiring::Wiring(const WiringInput& input)
    : input_(input),
      steer_rings_(input.plan->workers.size(), std::vector<rte_ring*>(input.plan->workers.size())),
      tx_rings_(steer_rings_),
      tx_retry_cycles_(input.tx_retry_cycles) {
    for (const WorkerPlan& worker : input.plan->workers) {
        lcores_.push_back(worker.lcore);
    }
}

int Wiring::socket_of(std::size_t worker) const {
    return static_cast<int>(rte_lcore_to_socket_id(lcores_[worker]));
}

// Room for what is held back of every queue that there is: ports that receive may change.
Status Wiring::make_parts() {
    std::size_t queues = 0;
    for (const PortPlan& port : input_.plan->ports) {
        queues += port.setup.rx_queues;
    }
    for (const WorkerPlan& worker : input_.plan->workers) {
        parts_.push_back(std::make_unique<WorkerParts>());
        WorkerParts& parts = *parts_.back();
        parts.scratch.resize(dataplane::kScratchBytes);
        if (input_.capture_clock) {
            parts.ahead.resize(worker.rx.size());
            parts.merge_order.resize(worker.rx.size());
        } else if (steers(*input_.plan)) {
            parts.held_back.resize(std::max(queues, worker.rx.size()));
        }
    }
    for (std::size_t f = 0; f < input_.plan->roots.size(); ++f) {
        if (input_.plan->roots[f] != nullptr) {
            RootLinks& links = roots_[input_.plan->filters[f].name];
            for (std::size_t w = 0; w < parts_.size(); ++w) {
                links.push_back(std::make_unique<dataplane::RootLink>());
            }
        }
    }
    return find_mbuf_fields();
}

Result<std::unique_ptr<WiringSetup>> Wiring::make_setup(const SetupChange& change,
                                                        const WiringSetup* from) {
    auto setup = std::make_unique<WiringSetup>();
    setup->plan = change.plan;
    setup->workers.resize(parts_.size());
    setup->sources.resize(parts_.size());
    tx_retry_cycles_ = change.tx_retry_cycles;
    Status status = connect(*change.plan);
    const auto then = [&](auto step) {
        if (status) {
            status = step();
        }
    };
    then([&] { return make_filters(*setup, change, from); });
    then([&] { return make_taps(*setup, from); });
    then([&] { return make_audits(*setup, change, from); });
    if (!status) {
        return tl::unexpected(status.error());
    }
    for (WorkerIndex w = 0; w < parts_.size(); ++w) {
        fill_common(*setup, w);
        fill_sources(*setup, from, w);
        fill_routes(*setup, from, w);
        fill_ways(*setup, w);
        fill_lanes(*setup, w);
        fill_roots(*setup, w);
        fill_taps(*setup, w);
        make_room_to_wait(*setup, w);
    }
    return setup;
}

void Wiring::fill_common(WiringSetup& setup, WorkerIndex worker) {
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

// A queue keeps its place among the worker's. One whose port is in no route any more closes.
void Wiring::fill_sources(WiringSetup& setup, const WiringSetup* from, WorkerIndex worker) const {
    const Plan& plan = *setup.plan;
    std::vector<RxSource>& sources = setup.sources[worker];
    if (from != nullptr) {
        sources = from->sources[worker];
        for (RxSource& source : sources) {
            source.state =
                source.state == SourceState::kClosed ? SourceState::kClosed : SourceState::kClosing;
        }
    }
    for (const RxAssignment& rx : plan.workers[worker].rx) {
        const RxSource source{input_.ports[rx.port], rx.queue, rx.port,
                              plan.ports[rx.port].setup.rx_descriptors, plan.route_place(rx.route)};
        const auto known = std::find_if(sources.begin(), sources.end(), [&](const RxSource& one) {
            return one.port == source.port && one.queue == source.queue;
        });
        if (known == sources.end()) {
            sources.push_back(source);
        } else {
            *known = source;
        }
    }
    setup.workers[worker].receive.sources = sources;
    setup.workers[worker].watch = {plan.stall_threshold, sources};
}

// Those that the plan before had stay until nothing is on its way to them.
void Wiring::fill_routes(WiringSetup& setup, const WiringSetup* from, WorkerIndex worker) const {
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

// To other workers and to ports.
void Wiring::fill_ways(WiringSetup& setup, WorkerIndex worker) {
    dataplane::WorkerSetup& out = setup.workers[worker];
    const Plan& plan = *setup.plan;
    out.steering.by_ring = plan.steering == Steering::kRing;
    out.steering.card = out.steering.by_ring ? nullptr : input_.card;
    out.steering.workers = static_cast<unsigned>(parts_.size());
    out.steering.self = worker;
    out.transmit.retry_cycles = tx_retry_cycles_;
    out.transmit.tag_offset = tag_offset_;
    for (std::size_t other = 0; other < parts_.size(); ++other) {
        out.steering.out[other] = steer_rings_[worker][other];
        out.steering.in[other] = steer_rings_[other][worker];
        out.transmit.in[other] = tx_rings_[other][worker];
    }
    for (PortIndex p = 0; p < plan.ports.size(); ++p) {
        const WorkerIndex owner = plan.tx_owner(p, worker);
        out.transmit.targets[p] = {input_.ports[p], owner,
                                   owner == worker ? nullptr : tx_rings_[worker][owner]};
    }
}

void Wiring::fill_lanes(WiringSetup& setup, WorkerIndex worker) {
    LanesSetup& lanes = setup.workers[worker].lanes;
    for (unsigned place = 0; place < kMaxFilters; ++place) {
        const std::shared_ptr<FilterSet>& filter = setup.filters[place];
        if (filter == nullptr) {
            continue;
        }
        lanes.count = place + 1;
        lanes.lanes[place] = filter->lanes[worker];
        if (setup.judges[place] != nullptr) {
            JudgeSet& judges = *setup.judges[place];
            lanes.lanes[place].judge = judges.empty() ? nullptr : &judges[worker];
        }
        lanes.shared[place] = &filter->workers[worker]->shared();
        lanes.filters[place] = &filter->shared;
        lanes.before[place] = setup.before[place];
        if (setup.audits[place] != nullptr) {
            lanes.audits[place] = &(*setup.audits[place])[worker]->stage();
            lanes.crossings = &parts_[worker]->crossings;
        }
    }
    for (std::size_t f = 0; f < setup.plan->filters.size(); ++f) {
        lanes.goes_on |= std::uint32_t{1} << setup.plan->filter_place(f);
    }
    lanes.worker_time = setup.warms() ? &parts_[worker]->shared.time : nullptr;
    for (PortIndex p = 0; p < setup.plan->ports.size(); ++p) {
        lanes.port_of[input_.ports[p]] = p;
    }
}

void Wiring::fill_roots(WiringSetup& setup, WorkerIndex worker) const {
    LanesSetup& lanes = setup.workers[worker].lanes;
    const Plan& plan = *setup.plan;
    for (std::size_t f = 0; f < plan.roots.size(); ++f) {
        const auto links = roots_.find(plan.filters[f].name);
        if (plan.roots[f] != nullptr && links != roots_.end()) {
            lanes.roots[plan.filter_place(f)] = links->second[worker].get();
            lanes.root_secrets[plan.filter_place(f)] = &plan.roots[f]->secret;
        }
    }
}

void Wiring::fill_taps(WiringSetup& setup, WorkerIndex worker) const {
    dataplane::ReportSetup& report = setup.workers[worker].report;
    for (std::size_t r = 0; r < setup.plan->routes.size(); ++r) {
        const RouteIndex place = setup.plan->route_place(r);
        if (setup.taps[place] != nullptr) {
            report.taps[place] = &(*setup.taps[place])[worker]->report();
            report.tap_of[input_.ports[setup.plan->routes[r].from[1]]] = filter::SetOfTwo::kSecond;
        }
    }
}

// For packets that are received and cannot go on at once. What runs ahead in one of several
// captures is looked for by the window of its filter.
void Wiring::make_room_to_wait(WiringSetup& setup, WorkerIndex worker) {
    WorkerParts& parts = *parts_[worker];
    dataplane::WorkerSetup& out = setup.workers[worker];
    out.receive.held_back = parts.held_back;
    const std::vector<RxSource>& sources = setup.sources[worker];
    for (std::size_t i = 0; parts.ahead.size() > 1 && i < parts.ahead.size(); ++i) {
        const FilterIndex filter = out.routes[sources[i].route].filter;
        parts.ahead[i].clock = MergeClock(epoch_jump(out.lanes.lanes[filter].window));
    }
    out.merge = {parts.ahead, parts.merge_order};
}

// --- filters, taps, audits ---------------------------------------------------------------------

Result<std::shared_ptr<FilterSet>> Wiring::make_filter(const engines::FilterPlan& plan) const {
    auto set = std::make_shared<FilterSet>(plan);
    for (std::size_t w = 0; w < parts_.size(); ++w) {
        auto filter = make_worker_filter(set->plan, w);
        if (!filter) {
            return tl::unexpected(filter.error());
        }
        set->lanes.push_back((*filter)->instance().lane(set->plan));
        set->workers.push_back(std::move(*filter));
    }
    // The turns that were due while nobody published them; 0 of filters that begin empty.
    const Nanoseconds now = input_.clock.now();
    std::uint64_t due = 0;
    for (const pipeline::Lane& lane : set->lanes) {
        due = std::max(due, lane.ageing->time() == 0 ? 0 : lane.ageing->turns_due(now));
    }
    set->shared.turns.store(due, std::memory_order_relaxed);
    return set;
}

// Of the process, or by `kept` what outlives it.
Result<WorkerMemory> Wiring::make_memory(std::size_t worker, std::uint64_t bytes,
                                         const KeptOf& kept) const {
    if (kept) {
        const PreferredNode node(socket_of(worker));
        auto memory = kept(*input_.state);
        return memory ? Result<WorkerMemory>(std::move(*memory)) : tl::unexpected(memory.error());
    }
    auto memory = eal::HugeMemory::allocate(bytes, socket_of(worker), input_.hugepages);
    return memory ? Result<WorkerMemory>(std::move(*memory)) : tl::unexpected(memory.error());
}

Result<std::unique_ptr<WorkerFilter>> Wiring::make_worker_filter(const engines::FilterPlan& plan,
                                                                 std::size_t worker) const {
    KeptOf kept;
    if (input_.state != nullptr) {
        kept = [&](KeptState& state) { return state.filter_memory(plan, worker); };
    }
    auto memory = make_memory(worker, plan.instance_bytes, kept);
    return memory ? WorkerFilter::make(plan, std::move(*memory)) : tl::unexpected(memory.error());
}

// Where a filter is warmed, the one before has a place of its own meanwhile.
Status Wiring::make_filters(WiringSetup& setup, const SetupChange& change,
                            const WiringSetup* from) {
    const Plan& plan = *setup.plan;
    for (std::size_t f = 0; f < plan.filters.size(); ++f) {
        const FilterIndex place = plan.filter_place(f);
        if (change.filters[f] != FilterChange::kKept) {
            auto made = make_filter(plan.filters[f]);
            if (!made) {
                return tl::unexpected(made.error());
            }
            setup.filters[place] = std::move(*made);
            continue;
        }
        setup.filters[place] = from->filters[place];
        setup.judges[place] = from->judges[place];
        if (change.judge_anew[f]) {
            const std::optional<pipeline::Judge>& judge = plan.filters[f].judge;
            setup.judges[place] =
                std::make_shared<JudgeSet>(judge ? JudgeSet(parts_.size(), *judge) : JudgeSet());
        }
    }
    // What is underway between workers to a route that is no more still needs its filter.
    for (FilterIndex place = 0; from != nullptr && place < kMaxFilters; ++place) {
        if (parts_.size() > 1 && setup.filters[place] == nullptr) {
            setup.filters[place] = from->filters[place];
            setup.judges[place] = from->judges[place];
        }
    }
    for (std::size_t f = 0; f < plan.filters.size(); ++f) {
        if (change.filters[f] == FilterChange::kWarmed) {
            const std::optional<FilterIndex> beside = free_place(setup);
            if (!beside) {
                return fail(Errc::kConfig,
                            "filter \"" + plan.filters[f].name + "\" cannot be warmed: all " +
                                std::to_string(kMaxFilters) + " filters of a process are in use");
            }
            setup.filters[*beside] = from->filters[plan.filter_place(f)];
            setup.before[plan.filter_place(f)] = *beside;
        }
    }
    return {};
}

Status Wiring::make_taps(WiringSetup& setup, const WiringSetup* from) const {
    const Plan& plan = *setup.plan;
    for (std::size_t r = 0; r < plan.routes.size(); ++r) {
        if (!plan.routes[r].taps) {
            continue;
        }
        const RouteIndex place = plan.route_place(r);
        for (std::size_t was = 0; from != nullptr && was < from->plan->routes.size(); ++was) {
            const RoutePlan& route = from->plan->routes[was];
            if (from->plan->route_place(was) == place && route.from == plan.routes[r].from &&
                route.taps == plan.routes[r].taps) {
                setup.taps[place] = from->taps[place];
            }
        }
        if (setup.taps[place] != nullptr) {
            continue;
        }
        auto made = make_taps_of(plan, plan.routes[r]);
        if (!made) {
            return tl::unexpected(made.error());
        }
        setup.taps[place] = std::move(*made);
    }
    return {};
}

Result<std::shared_ptr<TapSet>> Wiring::make_taps_of(const Plan& plan,
                                                     const RoutePlan& route) const {
    const auto params = params_of(*route.taps);
    if (!params) {
        return tl::unexpected(params.error());
    }
    auto set = std::make_shared<TapSet>();
    for (std::size_t w = 0; w < parts_.size(); ++w) {
        KeptOf kept;
        if (input_.state != nullptr) {
            kept = [&](KeptState& state) { return state.taps_memory(plan, route, *params, w); };
        }
        auto memory = make_memory(w, filter::TapReport::bytes(*params), kept);
        if (!memory) {
            return tl::unexpected(memory.error());
        }
        set->push_back(
            std::make_unique<WorkerTaps>(std::move(*memory), *params, route.taps->window));
    }
    return set;
}

Result<std::shared_ptr<AuditSet>> Wiring::make_audit(const Plan& plan, std::size_t filter) const {
    const engines::FilterPlan& of = plan.filters[filter];
    const auto params = engines::plan_audit(
        plan.audit, of, input_.capture_clock ? engines::AuditOf::kCapture : engines::AuditOf::kLive,
        input_.audit_secret->sample);
    if (!params) {
        return tl::unexpected(params.error());
    }
    auto set = std::make_shared<AuditSet>();
    for (std::size_t w = 0; w < parts_.size(); ++w) {
        KeptOf kept;
        if (input_.state != nullptr) {
            kept = [&](KeptState& state) { return state.audit_memory(of, *params, w); };
        }
        auto memory = make_memory(w, filter::Audit::bytes(*params), kept);
        if (!memory) {
            return tl::unexpected(memory.error());
        }
        set->push_back(std::make_unique<WorkerAudit>(std::move(*memory), *params, of.key,
                                                     *input_.audit_secret, parts_[w]->crossings));
    }
    return set;
}

Status Wiring::make_audits(WiringSetup& setup, const SetupChange& change, const WiringSetup* from) {
    const Plan& plan = *setup.plan;
    for (std::size_t f = 0; f < plan.audits.size(); ++f) {
        const FilterIndex place = plan.filter_place(f);
        if (from != nullptr && !change.audit_anew[f] && from->audits[place] != nullptr) {
            setup.audits[place] = from->audits[place];
            continue;
        }
        auto made = make_audit(plan, f);
        if (!made) {
            return tl::unexpected(made.error());
        }
        setup.audits[place] = std::move(*made);
    }
    return {};
}

// --- another plan ------------------------------------------------------------------------------

Result<SetupSteps> Wiring::prepare(const SetupChange& change) {
    auto first = make_setup(change, present_.get());
    if (!first) {
        return tl::unexpected(first.error());
    }
    SetupSteps steps;
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
    for (const std::vector<RxSource>& sources : steps.first->sources) {
        closes |= std::any_of(sources.begin(), sources.end(), [](const RxSource& source) {
            return source.state == SourceState::kClosing;
        });
    }
    if (steps.drains || closes || holds_unnamed(*steps.first)) {
        steps.last = last_of(*steps.first);
    }
    return steps;
}

// Without what the plan does not name.
std::unique_ptr<WiringSetup> Wiring::last_of(const WiringSetup& first) const {
    auto last = std::make_unique<WiringSetup>(first);
    const std::array<bool, kMaxFilters> named = named_places(*last->plan);
    last->before = LanesSetup::none_before();
    for (std::size_t place = 0; place < kMaxFilters; ++place) {
        if (!named[place]) {
            last->filters[place] = nullptr;
            last->judges[place] = nullptr;
        }
    }
    for (std::size_t w = 0; w < last->workers.size(); ++w) {
        for (RxSource& source : last->sources[w]) {
            if (source.state == SourceState::kClosing) {
                source.state = SourceState::kClosed;
            }
        }
        dataplane::WorkerSetup& out = last->workers[w];
        out.receive.sources = last->sources[w];
        out.watch.sources = last->sources[w];
        out.lanes.before = last->before;
        out.lanes.worker_time = nullptr;
        out.lanes.count = 0;
        for (unsigned place = 0; place < kMaxFilters; ++place) {
            if (named[place]) {
                out.lanes.count = place + 1;
            } else {
                out.lanes.lanes[place] = {};
                out.lanes.shared[place] = nullptr;
                out.lanes.filters[place] = nullptr;
            }
        }
    }
    return last;
}

// Who is started when the process has ended may go on with what is asked for all that it should
// know. From when another one takes a filter's place that is neither: the one knows nothing of what
// came before until it is warm, the other nothing of what comes.
std::unique_ptr<WiringSetup> Wiring::publish(std::unique_ptr<WiringSetup> setup) {
    const std::set<const void*> stays = standing(*setup);
    keep(*present_, [&](const void* set) { return stays.count(set) != 0; });
    for (std::size_t w = 0; w < parts_.size(); ++w) {
        parts_[w]->shared.setup.store(&setup->workers[w], std::memory_order_release);
    }
    keep(*setup, [&](const void* set) { return stays.count(set) != 0; });
    return std::exchange(present_, std::move(setup));
}

bool Wiring::adopted() const {
    for (std::size_t w = 0; w < parts_.size(); ++w) {
        const dataplane::WorkerShared& shared = parts_[w]->shared;
        if (shared.adopted.load(std::memory_order_acquire) !=
            shared.setup.load(std::memory_order_relaxed)) {
            return false;
        }
    }
    return true;
}

std::vector<std::uint32_t> Wiring::mark_rings() const {
    std::vector<std::uint32_t> marks;
    for (const eal::Ring& ring : rings_) {
        marks.push_back(dataplane::ring_produced(*ring));
    }
    return marks;
}

bool Wiring::passed(const std::vector<std::uint32_t>& marks) const {
    for (std::size_t i = 0; i < marks.size(); ++i) {
        if (static_cast<std::int32_t>(dataplane::ring_consumed(*rings_[i]) - marks[i]) < 0) {
            return false;
        }
    }
    return true;
}

// --- rings -------------------------------------------------------------------------------------

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

bool Wiring::sends_through(const Plan& plan, WorkerIndex from, WorkerIndex to) {
    for (PortIndex p = 0; p < plan.ports.size(); ++p) {
        if (plan.ports[p].transmits && plan.tx_owner(p, from) == to) {
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
        timestamp_offset_ = *offset;
    }
    if (parts_.size() > 1) {
        const auto offset = eal::register_mbuf_field("unecho_tx_tag", sizeof(dataplane::TxTag),
                                                     alignof(dataplane::TxTag));
        if (!offset) {
            return tl::unexpected(offset.error());
        }
        tag_offset_ = *offset;
    }
    return {};
}

// Those that are there stay.
Status Wiring::connect(const Plan& plan) {
    for (WorkerIndex from = 0; from < parts_.size(); ++from) {
        for (WorkerIndex to = 0; to < parts_.size(); ++to) {
            if (from == to) {
                continue;
            }
            if (const Status status = connect_pair(plan, from, to); !status) {
                return status;
            }
        }
    }
    return {};
}

Status Wiring::connect_pair(const Plan& plan, WorkerIndex from, WorkerIndex to) {
    if (steers(plan) && steer_rings_[from][to] == nullptr) {
        auto ring = new_ring("steer", from, to);
        if (!ring) {
            return tl::unexpected(ring.error());
        }
        steer_rings_[from][to] = *ring;
    }
    if (sends_through(plan, from, to) && tx_rings_[from][to] == nullptr) {
        auto ring = new_ring("tx", from, to);
        if (!ring) {
            return tl::unexpected(ring.error());
        }
        tx_rings_[from][to] = *ring;
    }
    return {};
}

std::map<std::uint64_t, std::uint64_t> Wiring::filter_bytes_by_page() const {
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

}  // namespace unecho::control
