// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/plan/shared_flows_plan.h"

#include <utility>

#include <fmt/core.h>

namespace unecho::appliance {
namespace {

// Return everything that decides whether two sites mean the same flow.
std::string key_text(const config::Filter& filter) {
    std::string text(packet::name_of(filter.key));
    for (const packet::EncapsulationInfo& info : packet::kEncapsulations) {
        if (filter.tunnels.has(info.encapsulation)) {
            text.append(" in ").append(info.name);
        }
    }
    for (const auto port : filter.vxlan_ports) {
        text += " " + std::to_string(port);
    }
    if (filter.tenant) {
        text.append(" tenant ")
            .append(packet::kTenantNames.at(static_cast<std::size_t>(*filter.tenant)));
    }
    if (filter.tags == packet::Tags::kCompare) {
        text += " in its networks";
    }
    return text;
}

}  // namespace

std::shared_ptr<const SharedFlowsPlan> plan_shared_flows(const config::Filter& filter,
                                                         bool is_other_host,
                                                         std::vector<std::string>& missing,
                                                         SharedFlowsProblem& problem) {
    const config::SharedFlows& wanted = *filter.root;
    const auto fail = [&](std::string key, std::string what) {
        problem = {std::move(key), std::move(what)};
        return nullptr;
    };
    if (const Status there = shared_flows::SharedFlows::available(); !there) {
        return fail("", there.error().context);
    }
    shared_flows::ClusterClientSpec asker;
    for (std::size_t i = 0; i < wanted.redis.size(); ++i) {
        Result<shared_flows::Endpoint> node = shared_flows::parse_endpoint(wanted.redis[i]);
        if (!node) {
            return fail(fmt::format(".redis[{}]", i), node.error().context);
        }
        asker.nodes.push_back(std::move(*node));
    }
    const auto lacks = [&](const std::string& key, const Error& error) {
        if (is_other_host) {
            missing.push_back(fmt::format("{}: {}", key, error.context));
        } else {
            fail("." + key, error.context);
        }
        return !is_other_host;
    };
    const Result<hash::ChachaKey> secret = shared_flows::read_secret(wanted.secret_file);
    if (!secret && lacks("secret_file", secret.error())) {
        return nullptr;
    }
    if (wanted.password_file) {
        Result<std::string> password = shared_flows::read_password(*wanted.password_file);
        if (!password && lacks("password_file", password.error())) {
            return nullptr;
        }
        asker.password = password.value_or("");
        asker.user = wanted.user;
    }
    asker.timeout = wanted.timeout;
    asker.tells = wanted.on_root == config::OnRoot::kDrop;
    const hash::ChachaKey key = secret.value_or(hash::ChachaKey{});
    Result<shared_flows::Layout> layout = shared_flows::Layout::make(
        {.name = wanted.name,
         .window = filter.window,
         .flows = wanted.flows,
         .bound = filter.max_false_drop.value_or(config::kDefaultFalseDrop) / 2,
         .refresh = filter.policy == config::Policy::kRefresh,
         .key = key_text(filter)},
        key);
    if (!layout) {
        return fail("", layout.error().context);
    }
    return std::make_shared<const SharedFlowsPlan>(SharedFlowsPlan{
        std::move(*layout), std::move(asker), shared_flows::digest_secret(key), wanted.required});
}

}  // namespace unecho::appliance
