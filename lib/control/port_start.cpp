// SPDX-License-Identifier: BSD-3-Clause
#include "control/port_start.h"

#include <string>
#include <utility>

#include "control/rss.h"

namespace unecho::control {
namespace {

Result<Plan> plan_for(const config::Config& config, const Machine& machine,
                      const std::vector<eal::DeviceFacts>& facts) {
    auto plan = make_plan(config, machine, facts);
    if (!plan) {
        return tl::unexpected(config::as_error(plan.error(), config.path));
    }
    return std::move(*plan);
}

Status start_all(const Plan& plan, std::vector<eal::Port>& ports, rte_mempool* pool) {
    for (std::size_t i = 0; i < ports.size(); ++i) {
        if (const Status status = ports[i].start(plan.ports[i].setup, pool); !status) {
            return status;
        }
    }
    return {};
}

// The model, or why RSS will not do.
tl::expected<dataplane::RssModel, std::string> ask_cards(const Plan& plan,
                                                         const std::vector<eal::Port>& ports) {
    std::vector<eal::RssAnswer> answers(ports.size());
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

}  // namespace

Result<StartedPorts> start_ports(const config::Config& config, const Machine& machine,
                                 std::vector<eal::DeviceFacts> facts, std::vector<eal::Port>& ports,
                                 const PoolFor& pool_for) {
    Result<Plan> plan = plan_for(config, machine, facts);
    if (!plan) {
        return tl::unexpected(plan.error());
    }
    const Result<rte_mempool*> pool = pool_for(*plan);
    if (!pool) {
        return tl::unexpected(pool.error());
    }
    Status started = start_all(*plan, ports, *pool);
    if (started && plan->steering != Steering::kRss) {
        return StartedPorts{std::move(*plan), std::nullopt};
    }
    if (!started && plan->steering != Steering::kRss) {
        return tl::unexpected(started.error());
    }
    std::string obstacle;
    if (started) {
        auto model = ask_cards(*plan, ports);
        if (model) {
            return StartedPorts{std::move(*plan), *model};
        }
        obstacle = std::move(model.error());
    } else {
        obstacle = started.error().context;
    }
    // Again with rings, or not at all: with facts.rss_refused the plan says which.
    for (std::size_t i = 0; i < ports.size(); ++i) {
        ports[i].stop();
        facts[i].rss_refused = obstacle;
    }
    plan = plan_for(config, machine, facts);
    if (!plan) {
        return tl::unexpected(plan.error());
    }
    started = start_all(*plan, ports, *pool);
    if (!started) {
        return tl::unexpected(started.error());
    }
    return StartedPorts{std::move(*plan), std::nullopt};
}

}  // namespace unecho::control
