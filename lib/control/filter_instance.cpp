// SPDX-License-Identifier: BSD-3-Clause
#include "control/filter_instance.h"

#include <utility>

#include "dataplane/engine.h"

namespace unecho::control {
namespace {

filter::EchoPolicy policy_of(const FilterPlan& plan) {
    return plan.policy == config::Policy::kRefresh ? filter::EchoPolicy::kRefresh
                                                   : filter::EchoPolicy::kFixed;
}

Result<filter::ApbbfParams> params_of(const FilterPlan& plan, const sizing::ApbbfGeometry& g) {
    filter::ApbbfSpec spec;
    spec.k = g.k;
    spec.l = g.l;
    spec.B = g.B;
    spec.b = g.b;
    spec.blocks = g.blocks;
    spec.policy = policy_of(plan);
    return filter::ApbbfParams::make(spec);
}

Result<filter::ApbfParams> params_of(const FilterPlan& plan, const sizing::ApbfGeometry& g) {
    filter::ApbfSpec spec;
    spec.k = g.k;
    spec.l = g.l;
    spec.m = g.m;
    spec.policy = policy_of(plan);
    return filter::ApbfParams::make(spec);
}

Result<filter::ExactParams> params_of(const FilterPlan& plan, const sizing::ExactGeometry& g) {
    filter::ExactSpec spec;
    spec.entries = g.entries;
    spec.window = plan.window;
    spec.policy = policy_of(plan);
    return filter::ExactParams::make(spec);
}

// Which filter a geometry stands for, and its function table.
const dataplane::EngineOps& ops_of(const filter::Apbbf&) {
    return dataplane::kApbbfOps;
}
const dataplane::EngineOps& ops_of(const filter::Apbf&) {
    return dataplane::kApbfOps;
}
const dataplane::EngineOps& ops_of(const filter::Exact&) {
    return dataplane::kExactOps;
}

template <typename Params>
struct FilterOf;
template <>
struct FilterOf<filter::ApbbfParams> {
    using type = filter::Apbbf;
};
template <>
struct FilterOf<filter::ApbfParams> {
    using type = filter::Apbf;
};
template <>
struct FilterOf<filter::ExactParams> {
    using type = filter::Exact;
};

// Calls with the checked parameters of the plan's geometry.
template <typename Answer, typename Build>
Result<Answer> with_params(const FilterPlan& plan, Build build) {
    const auto visit = [&](const auto& geometry) -> Result<Answer> {
        const auto params = params_of(plan, geometry);
        if (!params) {
            return fail(params.error().code,
                        "filter \"" + plan.name + "\": " + params.error().context);
        }
        return build(*params);
    };
    return std::visit(visit, plan.geometry);
}

}  // namespace

Result<std::uint64_t> FilterInstance::bytes_for(const FilterPlan& plan) {
    return with_params<std::uint64_t>(plan, []<typename Params>(const Params& params) {
        return FilterOf<Params>::type::bytes(params);
    });
}

Result<std::unique_ptr<FilterInstance>> FilterInstance::make(const FilterPlan& plan, int socket,
                                                             bool has_hugepages) {
    using Made = std::unique_ptr<FilterInstance>;
    return with_params<Made>(plan, [&]<typename Params>(const Params& params) -> Result<Made> {
        using F = typename FilterOf<Params>::type;
        auto memory = eal::HugeMemory::allocate(F::bytes(params), socket, has_hugepages);
        if (!memory) {
            return tl::unexpected(memory.error());
        }
        F made(params, memory->bytes());
        return Made(new FilterInstance(std::move(*memory), Filter(std::move(made))));
    });
}

dataplane::Lane FilterInstance::lane(const FilterPlan& plan) {
    dataplane::Lane lane;
    std::visit(
        [&](auto& f) {
            lane.ops = &ops_of(f);
            lane.filter = &f;
        },
        filter_);
    lane.key = plan.key;
    lane.first = plan.first;
    lane.clock = plan.clock;
    return lane;
}

filter::SegmentRing* FilterInstance::segments() {
    const dataplane::EngineOps& ops =
        std::visit([](const auto& f) -> const dataplane::EngineOps& { return ops_of(f); }, filter_);
    return std::visit([&](auto& f) { return ops.segments(&f); }, filter_);
}

}  // namespace unecho::control
