// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/topology/port_start.h"

#include <string>
#include <utility>

#include "appliance/plan/rss.h"

namespace unecho::appliance {
namespace {

Result<Plan> plan_for(const config::Config& config, const Machine& machine,
                      const std::vector<eal::DeviceInfo>& facts) {
    auto plan = make_plan(config, machine, facts);
    if (!plan) {
        return tl::unexpected(config::as_error(plan.error(), config.path));
    }
    return std::move(*plan);
}

Status start_all(const Plan& plan, std::vector<eal::Port>& ports, rte_mempool* pool) {
    for (std::size_t i = 0; i < ports.size(); ++i) {
        UNECHO_TRY(ports[i].start(plan.ports[i].setup, pool));
    }
    return {};
}

// Return the model of the cards' hash, or why RSS is unsuitable.
tl::expected<dataplane::RssModel, std::string> ask_cards(const Plan& plan,
                                                         const std::vector<eal::Port>& ports) {
    std::vector<eal::RssSettings> answers(ports.size());
    std::size_t receiving = 0;
    for (std::size_t i = 0; i < ports.size(); ++i) {
        if (plan.ports[i].receives) {
            answers[i] = ports[i].rss();
            receiving = i;
        }
    }
    if (std::string obstacle = rss_obstacle(plan, answers); !obstacle.empty()) {
        return tl::unexpected(std::move(obstacle));
    }
    return rss_model(plan, answers[receiving]);
}

tl::expected<dataplane::RssModel, std::string> start_hashing(const Plan& plan,
                                                             std::vector<eal::Port>& ports,
                                                             rte_mempool* pool) {
    if (const Status started = start_all(plan, ports, pool); !started) {
        return tl::unexpected(started.error().context);
    }
    return ask_cards(plan, ports);
}

}  // namespace

Result<StartedPorts> start_ports(const config::Config& config, const Machine& machine,
                                 std::vector<eal::DeviceInfo> facts, std::vector<eal::Port>& ports,
                                 const PoolFor& pool_for) {
    Result<Plan> plan = plan_for(config, machine, facts);
    UNECHO_TRY(plan);
    const Result<rte_mempool*> pool = pool_for(*plan);
    UNECHO_TRY(pool);
    if (plan->steering == SteeringMode::kRss) {
        const auto model = start_hashing(*plan, ports, *pool);
        if (model) {
            return StartedPorts{std::move(*plan), *model};
        }
        // Start again with rings, or not at all: facts.rss_refused makes the plan decide which.
        for (std::size_t i = 0; i < ports.size(); ++i) {
            ports[i].stop();
            facts[i].rss_refused = model.error();
        }
        plan = plan_for(config, machine, facts);
        UNECHO_TRY(plan);
    }
    UNECHO_TRY(start_all(*plan, ports, *pool));
    return StartedPorts{std::move(*plan), std::nullopt};
}

}  // namespace unecho::appliance
