// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/plan/rss.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

#include <fmt/core.h>

#include "packets/keys/key.h"

namespace unecho::appliance {
namespace {

using dataplane::RssModel;

// Toeplitz hashes both directions of a flow alike exactly if the key repeats every 16 bits.
bool is_symmetric(const std::vector<std::uint8_t>& key) {
    return std::equal(key.begin() + 2, key.begin() + RssModel::kKeyBytes, key.begin()) &&
           (key[0] != 0 || key[1] != 0);
}

// Empty if the settings of this port, taken alone, are suitable.
std::string flaw_of(const PortPlan& port, const eal::RssSettings& answer) {
    if (!answer.failure.empty()) {
        return answer.failure;
    }
    if (answer.key.size() < RssModel::kKeyBytes) {
        return fmt::format("hashes with a key of {} bytes, not {}", answer.key.size(),
                           RssModel::kKeyBytes);
    }
    if (!is_symmetric(answer.key)) {
        return "hashes with a key of its own, which parts the two directions of a flow";
    }
    if ((answer.types & port.setup.rss_types) == 0) {
        return "hashes none of the packet types that it was asked to";
    }
    if (answer.table.empty() || answer.table.size() > RssModel::kMaxEntries) {
        return fmt::format("has a redirection table of {} entries", answer.table.size());
    }
    const std::set<std::uint16_t> used(answer.table.begin(), answer.table.end());
    if (*used.rbegin() >= port.setup.rx_queues) {
        return fmt::format("sends packets to queue {}, which nobody reads", *used.rbegin());
    }
    return used.size() == port.setup.rx_queues
               ? ""
               : fmt::format("sends packets to {} of {} queues", used.size(), port.setup.rx_queues);
}

// Tables of different sizes may still map equal hashes to the same queues.
bool same_spread(const std::vector<std::uint16_t>& a, const std::vector<std::uint16_t>& b) {
    const std::size_t common = std::lcm(a.size(), b.size());
    for (std::size_t i = 0; i < common; ++i) {
        if (a[i % a.size()] != b[i % b.size()]) {
            return false;
        }
    }
    return true;
}

std::string difference(const eal::RssSettings& a, const eal::RssSettings& b) {
    if (!std::equal(a.key.begin(), a.key.begin() + RssModel::kKeyBytes, b.key.begin())) {
        return "keys";
    }
    if (a.types != b.types) {
        return "packet types";
    }
    return same_spread(a.table, b.table) ? "" : "redirection tables";
}

std::string who(const PortPlan& port) {
    return fmt::format("port \"{}\" ({})", port.name, port.facts.driver);
}

// Empty if this port can use RSS.
std::string obstacle_of(const PortPlan& port, unsigned workers) {
    if (!port.facts.rss_refused.empty()) {
        return port.facts.rss_refused;
    }
    if (!port.facts.rss()) {
        return who(port) + " does not hash packets over queues";
    }
    if (port.facts.max_rx_queues < workers) {
        return fmt::format("{} has {} rx queues for {} workers", who(port),
                           port.facts.max_rx_queues, workers);
    }
    return "";
}

}  // namespace

std::string rss_obstacle(const std::vector<PortPlan>& ports, unsigned workers) {
    std::uint64_t types = ~std::uint64_t{0};
    const PortPlan* before = nullptr;
    for (const PortPlan& port : ports) {
        if (!port.receives) {
            continue;
        }
        if (std::string obstacle = obstacle_of(port, workers); !obstacle.empty()) {
            return obstacle;
        }
        if (before != nullptr && before->facts.driver != port.facts.driver) {
            return fmt::format(
                "{} and a port of {} may mean different things by the same packet types", who(port),
                before->facts.driver);
        }
        if (before != nullptr && before->facts.reta_size != port.facts.reta_size &&
            !std::has_single_bit(workers)) {
            return "the ports' redirection tables differ in size and the number of workers is no "
                   "power of two";
        }
        types &= port.facts.rss_types;
        before = &port;
    }
    return types == 0 ? "the ports have no packet type in common that they hash by" : "";
}

std::string rss_obstacle(const Plan& plan, const std::vector<eal::RssSettings>& answers) {
    const PortPlan* first = nullptr;
    const eal::RssSettings* expected = nullptr;
    for (std::size_t i = 0; i < plan.ports.size(); ++i) {
        const PortPlan& port = plan.ports[i];
        if (!port.receives) {
            continue;
        }
        if (const std::string flaw = flaw_of(port, answers[i]); !flaw.empty()) {
            return fmt::format("{} {}", who(port), flaw);
        }
        if (expected == nullptr) {
            first = &port;
            expected = &answers[i];
        } else if (const std::string what = difference(*expected, answers[i]); !what.empty()) {
            return fmt::format("{} and {} hash with different {}", who(*first), who(port), what);
        }
    }
    return "";
}

dataplane::RssModel rss_model(const Plan& plan, const eal::RssSettings& answer) {
    RssModel model;
    for (std::size_t i = 0; i < RssModel::kKeyBytes; ++i) {
        model.key[i / 4] = model.key[i / 4] << 8 | answer.key[i];
    }
    model.types = answer.types;
    model.entries = static_cast<unsigned>(answer.table.size());
    std::copy(answer.table.begin(), answer.table.end(), model.table.begin());
    for (const engines::FilterPlan& filter : plan.filters) {
        model.fragments_by_ports |= packet::is_flow(filter.key.mode);
        model.frames_have_keys |= filter.key.mode == packet::KeyMode::kFrame ||
                                  filter.key.non_ip == packet::NonIp::kFrame;
    }
    for (const RoutePlan& route : plan.routes) {
        model.fragments_by_ports |= route.taps.has_value();
    }
    return model;
}

}  // namespace unecho::appliance
