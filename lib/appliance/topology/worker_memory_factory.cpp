// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/topology/worker_memory_factory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <rte_lcore.h>

#include "base/os/memory_node.h"

namespace unecho::appliance {
namespace {

std::optional<FilterIndex> free_place(const WorkerConfigSet& setup) {
    for (FilterIndex place = 0; place < kMaxFilters; ++place) {
        if (setup.filters[place] == nullptr) {
            return place;
        }
    }
    return std::nullopt;
}

}  // namespace

WorkerMemoryFactory::WorkerMemoryFactory(const TopologyInput& input, std::vector<Worker> workers)
    : input_(input), workers_(std::move(workers)) {}

Status WorkerMemoryFactory::fill(WorkerConfigSet& setup, const ConfigDiff& change,
                                 const WorkerConfigSet* from) const {
    UNECHO_TRY(fill_filters(setup, change, from));
    UNECHO_TRY(fill_taps(setup, from));
    return fill_audits(setup, change, from);
}

Result<std::shared_ptr<FilterSet>> WorkerMemoryFactory::make_filter(
    const engines::FilterPlan& plan) const {
    auto set = std::make_shared<FilterSet>(plan);
    for (std::size_t w = 0; w < workers_.size(); ++w) {
        auto filter = make_worker_filter(set->plan, w);
        UNECHO_TRY(filter);
        set->contexts.push_back((*filter)->instance().context(set->plan));
        set->workers.push_back(std::move(*filter));
    }
    // Make up for turns that were due while no process published them; none for filters that begin
    // empty.
    const Nanoseconds now = input_.clock.now();
    std::uint64_t due = 0;
    for (const pipeline::FilterContext& context : set->contexts) {
        due = std::max(due, context.ageing->time() == 0 ? 0 : context.ageing->turns_due(now));
    }
    set->shared.turns.store(due, std::memory_order_relaxed);
    return set;
}

// Allocate private memory, or with [state] call kept() for memory that outlives the process.
Result<WorkerMemory> WorkerMemoryFactory::make_memory(std::size_t worker, std::uint64_t bytes,
                                                      const KeptOf& kept) const {
    const auto socket = static_cast<int>(rte_lcore_to_socket_id(workers_[worker].lcore));
    if (input_.state != nullptr) {
        const PreferredNode node(socket);
        auto memory = kept(*input_.state);
        return memory ? Result<WorkerMemory>(std::move(*memory)) : tl::unexpected(memory.error());
    }
    auto memory = eal::HugeMemory::allocate(bytes, socket, input_.hugepages);
    return memory ? Result<WorkerMemory>(std::move(*memory)) : tl::unexpected(memory.error());
}

Result<std::unique_ptr<WorkerFilter>> WorkerMemoryFactory::make_worker_filter(
    const engines::FilterPlan& plan, std::size_t worker) const {
    auto memory = make_memory(worker, plan.instance_bytes, [&](WarmRestartStore& state) {
        return state.filter_memory(plan, worker);
    });
    return memory ? WorkerFilter::make(plan, std::move(*memory)) : tl::unexpected(memory.error());
}

// While a filter is warmed, its predecessor has an index of its own.
Status WorkerMemoryFactory::fill_filters(WorkerConfigSet& setup, const ConfigDiff& change,
                                         const WorkerConfigSet* from) const {
    const Plan& plan = *setup.plan;
    for (std::size_t f = 0; f < plan.filters.size(); ++f) {
        const FilterIndex place = plan.filter_place(f);
        if (change.filters[f] != FilterChange::kKept) {
            auto made = make_filter(plan.filters[f]);
            UNECHO_TRY(made);
            setup.filters[place] = std::move(*made);
            continue;
        }
        setup.filters[place] = from->filters[place];
        setup.confidence_policies[place] = from->confidence_policies[place];
        if (change.judge_anew[f]) {
            const std::optional<pipeline::ConfidencePolicy>& confidence =
                plan.filters[f].confidence;
            setup.confidence_policies[place] = std::make_shared<ConfidencePolicySet>(
                confidence ? ConfidencePolicySet(workers_.size(), *confidence)
                           : ConfidencePolicySet());
        }
    }
    // Packets underway between workers to a removed route still need its filter.
    for (FilterIndex place = 0; from != nullptr && place < kMaxFilters; ++place) {
        if (workers_.size() > 1 && setup.filters[place] == nullptr) {
            setup.filters[place] = from->filters[place];
            setup.confidence_policies[place] = from->confidence_policies[place];
        }
    }
    for (std::size_t f = 0; f < plan.filters.size(); ++f) {
        if (change.filters[f] == FilterChange::kWarmed) {
            const std::optional<FilterIndex> beside = free_place(setup);
            if (!beside) {
                return fail(
                    Errc::kConfig,
                    fmt::format(
                        "filter \"{}\" cannot be warmed: all {} filters of a process are in use",
                        plan.filters[f].name, kMaxFilters));
            }
            setup.filters[*beside] = from->filters[plan.filter_place(f)];
            setup.before[plan.filter_place(f)] = *beside;
        }
    }
    return {};
}

Status WorkerMemoryFactory::fill_taps(WorkerConfigSet& setup, const WorkerConfigSet* from) const {
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
        auto made = make_taps(plan, plan.routes[r]);
        UNECHO_TRY(made);
        setup.taps[place] = std::move(*made);
    }
    return {};
}

Result<std::shared_ptr<TapSet>> WorkerMemoryFactory::make_taps(const Plan& plan,
                                                               const RoutePlan& route) const {
    const auto params = params_of(*route.taps);
    UNECHO_TRY(params);
    auto set = std::make_shared<TapSet>();
    for (std::size_t w = 0; w < workers_.size(); ++w) {
        auto memory = make_memory(
            w, filter::TapReport::bytes(*params),
            [&](WarmRestartStore& state) { return state.taps_memory(plan, route, *params, w); });
        UNECHO_TRY(memory);
        set->push_back(
            std::make_unique<WorkerTaps>(std::move(*memory), *params, route.taps->window));
    }
    return set;
}

Result<std::shared_ptr<AuditSet>> WorkerMemoryFactory::make_audit(const Plan& plan,
                                                                  std::size_t filter) const {
    const engines::FilterPlan& of = plan.filters[filter];
    const auto params = engines::plan_audit(
        plan.audit, of, input_.capture_clock ? engines::AuditOf::kCapture : engines::AuditOf::kLive,
        input_.audit_secret->sample);
    UNECHO_TRY(params);
    auto set = std::make_shared<AuditSet>();
    for (std::size_t w = 0; w < workers_.size(); ++w) {
        auto memory = make_memory(w, filter::Audit::bytes(*params), [&](WarmRestartStore& state) {
            return state.audit_memory(of, *params, w);
        });
        UNECHO_TRY(memory);
        std::unique_ptr<WorkerPaths> paths;
        if (filter < plan.paths.size() && plan.paths[filter]) {
            auto made = make_paths(*plan.paths[filter], w);
            UNECHO_TRY(made);
            paths = std::move(*made);
        }
        set->push_back(std::make_unique<WorkerAudit>(std::move(*memory), *params, of.key,
                                                     *input_.audit_secret, *workers_[w].crossings,
                                                     std::move(paths)));
    }
    return set;
}

// Paths are not kept: a restarted process soon knows again what is on its way.
Result<std::unique_ptr<WorkerPaths>> WorkerMemoryFactory::make_paths(const engines::PathPlan& plan,
                                                                     std::size_t worker) const {
    pipeline::PathSpec spec = plan.spec;
    spec.secret = input_.audit_secret->sample;
    auto memory = eal::HugeMemory::allocate(
        pipeline::PathTable::bytes(spec),
        static_cast<int>(rte_lcore_to_socket_id(workers_[worker].lcore)), input_.hugepages);
    UNECHO_TRY(memory);
    return std::make_unique<WorkerPaths>(std::move(*memory), spec);
}

Status WorkerMemoryFactory::fill_audits(WorkerConfigSet& setup, const ConfigDiff& change,
                                        const WorkerConfigSet* from) const {
    const Plan& plan = *setup.plan;
    for (std::size_t f = 0; f < plan.audits.size(); ++f) {
        const FilterIndex place = plan.filter_place(f);
        if (from != nullptr && !change.audit_anew[f] && from->audits[place] != nullptr) {
            setup.audits[place] = from->audits[place];
            continue;
        }
        auto made = make_audit(plan, f);
        UNECHO_TRY(made);
        setup.audits[place] = std::move(*made);
    }
    return {};
}

}  // namespace unecho::appliance
