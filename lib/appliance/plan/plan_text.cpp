// SPDX-License-Identifier: BSD-3-Clause
// The plan as `unecho check` prints it.

#include <fmt/core.h>

#include "appliance/plan/plan.h"
#include "base/humanize.h"
#include "base/join_text.h"
#include "base/option_names.h"
#include "base/table.h"
#include "packets/keys/key.h"

namespace unecho::appliance {
namespace {

std::string list_of(const Plan& plan, const std::vector<PortIndex>& ports) {
    return join_text(ports, ", ", [&](PortIndex port) { return plan.ports[port].name; });
}

const char* name_of(SteeringMode steering) {
    switch (steering) {
        case SteeringMode::kSingle:
            return "single";
        case SteeringMode::kRss:
            return "rss";
        case SteeringMode::kRing:
            return "ring";
    }
    return "";
}

std::string ports_text(const Plan& plan) {
    TextTable table({"port", "device", ">rx queues", ">tx queues", ">mtu", "known from"});
    for (const PortPlan& port : plan.ports) {
        const std::string args = port.device.args.empty() ? "" : "," + port.device.args_text();
        table.row({port.name, port.device.name + args, std::to_string(port.setup.rx_queues),
                   std::to_string(port.setup.tx_queues), std::to_string(port.setup.mtu),
                   port.facts.probed ? "the device" : "its driver's name"});
    }
    return "ports\n" + table.text();
}

std::string workers_text(const Plan& plan) {
    TextTable table({"worker", "lcore", "polls", "for", "filter"});
    for (std::size_t w = 0; w < plan.workers.size(); ++w) {
        std::string name = std::to_string(w);
        std::string lcore = std::to_string(plan.workers[w].lcore);
        if (plan.workers[w].rx.empty()) {
            table.row({name, lcore, "rings from other workers", "all routes", ""});
        }
        for (const RxAssignment& rx : plan.workers[w].rx) {
            const RoutePlan& route = plan.routes[rx.route];
            table.row({name, lcore, fmt::format("{} queue {}", plan.ports[rx.port].name, rx.queue),
                       fmt::format("route {}: -> {}", rx.route, plan.ports[route.to].name),
                       plan.filters[route.filter].name});
            name.clear();
            lcore.clear();
        }
    }
    // DPDK's number of the control thread's lcore is no CPU if a worker has that CPU.
    std::string out = "workers (control thread: CPU " + std::to_string(plan.main_cpu);
    for (std::size_t w = 0; w < plan.workers.size(); ++w) {
        if (plan.workers[w].lcore == plan.main_cpu) {
            out += ", shared with worker " + std::to_string(w);
        }
    }
    out += ")\n" + table.text();
    return fmt::format("{}  steering: {} ({})\n", out, name_of(plan.steering),
                       plan.steering_reason);
}

std::string routes_text(const Plan& plan) {
    TextTable table({">route", "from", "to", "filter", "echoes are"});
    for (std::size_t i = 0; i < plan.routes.size(); ++i) {
        const RoutePlan& route = plan.routes[i];
        std::string action(info_of(route.on_echo).words);
        if (names_port(route.on_echo)) {
            action += plan.ports[route.divert_to].name;
        }
        table.row({std::to_string(i), list_of(plan, route.from), plan.ports[route.to].name,
                   plan.filters[route.filter].name, action});
    }
    std::string out = "routes\n" + table.text();
    for (std::size_t i = 0; i < plan.routes.size(); ++i) {
        if (const std::optional<TapPlan>& taps = plan.routes[i].taps) {
            out += "  route " + std::to_string(i) + " reports the flows of each window of " +
                   format_duration(taps->window) + " that only " +
                   plan.ports[plan.routes[i].from[0]].name + " saw, only " +
                   plan.ports[plan.routes[i].from[1]].name + " saw, and both: planned for " +
                   std::to_string(taps->flows) + ", " + format_size(taps->instance_bytes) +
                   " a worker, " + format_size(taps->instance_bytes * plan.workers.size()) +
                   " in all\n";
        }
    }
    return out;
}

// Describe what happens to packets beyond the planned rate.
std::string when_full(const engines::FilterPlan& filter) {
    if (!filter.on_full) {
        return filter.engine().by_generation
                   ? "the window is kept, and false drops may be more than planned"
                   : "the oldest packets are forgotten; the achieved window is reported";
    }
    switch (*filter.on_full) {
        case config::OnFull::kShrink:
            return fmt::format(
                "shrink: a {} ends at {} keys; above the planned rate the window gets shorter, and "
                "copies younger than the achieved window are found",
                filter.prediction.phases > 1 ? "tick" : "generation", *filter.load);
        case config::OnFull::kDoubt:
            return "doubt: the window is kept, and matches that may be accidents are forwarded";
        case config::OnFull::kGrow:
            return "grow: larger slices, up to the memory; then the oldest slice is forgotten, "
                   "and the achieved window is reported";
    }
    return "";
}

// Such as "vxlan, gre; packets of different tenants differ"
std::string tunnels_text(const packet::KeySpec& key) {
    std::string text;
    for (const packet::EncapsulationInfo& info : packet::kEncapsulations) {
        if (key.tunnels.listed().has(info.encapsulation)) {
            text.append(text.empty() ? "" : ", ").append(info.name);
        }
    }
    return text + (key.tenant == packet::Tenant::kMatch
                       ? "; packets of different tenants differ"
                       : "; copies in different tunnels, or in none, are the same");
}

std::string key_text(const engines::FilterPlan& filter) {
    std::string key(packet::name_of(filter.key.mode));
    if (filter.first > 1) {
        key += fmt::format(", first {} of each pass", filter.first);
    }
    if (filter.key.non_ip == packet::NonIp::kFrame) {
        key += "; frames without an IP packet by their own bytes";
    }
    if (filter.key.tags == packet::Tags::kCompare) {
        key += "; packets in different VLANs or behind different MPLS labels differ";
    }
    if (filter.key.bytes != 0) {
        key += ", its first " + std::to_string(filter.key.bytes) +
               " bytes: packets that differ behind them are the same, beyond max_false_drop";
    }
    return key;
}

void add_times(TextTable& table, const engines::FilterPlan& filter) {
    const sizing::Prediction& p = filter.prediction;
    table.row({"window", format_duration(filter.window) + ", " +
                             (filter.policy == config::Policy::kFixed ? "fixed" : "refresh")});
    if (p.slack != 0) {
        table.row(
            {"generations", fmt::format("{} each, {} keys",
                                        format_duration(p.generation * p.phases), p.shift_keys)});
        if (p.phases > 1) {
            table.row({"ticks", fmt::format("{} each, {} to a generation",
                                            format_duration(p.generation), p.phases)});
        }
    }
    table.row({"slack", p.slack == 0
                            ? "none"
                            : fmt::format("{} (NPWS {:.2f})", format_duration(p.slack), p.npws)});
}

void add_costs(TextTable& table, const engines::FilterPlan& filter, std::size_t workers) {
    const sizing::Prediction& p = filter.prediction;
    table.row(
        {"planned rate",
         fmt::format("{} a worker{}", format_rate(filter.keys_per_second / filter.keys_per_packet),
                     filter.keys_per_packet == 1
                         ? ""
                         : fmt::format(", of which each packet may renew {} keys",
                                       filter.keys_per_packet))});
    table.row({"when full", when_full(filter)});
    table.row({"false drops",
               fmt::format("predicted {:.2g} of the packets that are no echo, at the planned rate",
                           p.false_drop)});
    table.row(
        {"memory", fmt::format("{} a worker, {} in all; {:.1f} bits a window key",
                               format_size(filter.instance_bytes),
                               format_size(filter.instance_bytes * workers), p.bits_per_key)});
    table.row({"cache lines", format_number("%.1f", p.lines_per_packet) + " a new packet"});
}

std::string repeats_text(const engines::FilterPlan& filter) {
    if (filter.key.repeats == packet::Repeats::kDrop) {
        return "dropped: equal packets without an ID are echoes, whether they were sent again or "
               "not";
    }
    const filter::UnionSpec& spec = filter.repeats->spec();
    std::string text = "kept, told from copies by port";
    constexpr std::array<std::string_view, 3> kPoints{"", " and MAC addresses",
                                                      ", MAC addresses and TTL"};
    text += kPoints[static_cast<std::size_t>(filter.key.point)];
    if (spec.same_port != 0) {
        text +=
            fmt::format("; seen {} times within {}{}", spec.views, format_duration(spec.same_port),
                        spec.needs_evidence ? " where a mirror doubles packets" : "");
    }
    return fmt::format("{}; {} a worker", text,
                       format_size(filter::UnionRule::bytes(*filter.repeats)));
}

std::string audit_text(const AuditPlan& audit, std::size_t workers) {
    return fmt::format(
        "{} a worker, {} in all: of {} at first, {} at a time", format_size(audit.instance_bytes),
        format_size(audit.instance_bytes * workers),
        audit.bits == 0 ? "all keys" : "one key in " + format_count(std::uint64_t{1} << audit.bits),
        format_count(audit.entries));
}

std::string paths_text(const engines::PathPlan& paths, std::size_t workers) {
    std::string points;
    for (const std::string& point : paths.points) {
        points += (points.empty() ? "" : paths.spec.stated ? " > " : ", ") + point;
    }
    std::string text = fmt::format(
        "{} {}; {} a worker, {} in all", paths.spec.stated ? "along" : "between", points,
        format_size(paths.instance_bytes()), format_size(paths.instance_bytes() * workers));
    if (paths.spec.all) {
        text += "; losses counted over all packets";
    }
    if (paths.max_loss) {
        text += fmt::format("; loss up to {} is no problem", percent(*paths.max_loss));
    }
    if (paths.max_delay) {
        text += fmt::format("; delays up to {} are none", format_duration(*paths.max_delay));
    }
    return text;
}

std::string root_text(const SharedFlowsPlan& root) {
    const shared_flows::LayoutSpec& spec = root.layout.spec();
    return "\"" + spec.name + "\", at " + root.asker.nodes.front().text() + ": " +
           format_count(spec.flows) + " flows of all sites in a window, " +
           format_size(root.layout.planned_bytes()) + " in all, " +
           std::to_string(root.layout.width()) + " bytes each; " +
           (root.asker.tells ? "what others have seen is an echo" : "counts alone") +
           (root.required ? "; required" : "");
}

// Return the bytes that a reload of everything takes besides the present filters and audits.
std::uint64_t reload_bytes(const Plan& plan) {
    std::uint64_t bytes = 0;
    for (const engines::FilterPlan& filter : plan.filters) {
        bytes += filter.instance_bytes;
    }
    for (const AuditPlan& audit : plan.audits) {
        bytes += audit.instance_bytes;
    }
    for (const std::optional<engines::PathPlan>& paths : plan.paths) {
        bytes += paths ? paths->instance_bytes() : 0;
    }
    return bytes * plan.workers.size();
}

std::uint64_t kept_bytes(const Plan& plan) {
    std::uint64_t taps = 0;
    for (const RoutePlan& route : plan.routes) {
        taps += route.taps ? route.taps->instance_bytes : 0;
    }
    return reload_bytes(plan) + taps * plan.workers.size();
}

std::string filter_text(const Plan& plan, std::size_t index) {
    const engines::FilterPlan& filter = plan.filters[index];
    TextTable table({"", ""});
    table.row({"key", key_text(filter)});
    if (filter.key.tunnels.any()) {
        table.row({"tunnels", tunnels_text(filter.key)});
    }
    table.row({"engine", fmt::format("{} ({})", engines::engine_name(filter.geometry),
                                     engines::geometry_text(filter.geometry))});
    if (!filter.choice.empty()) {
        table.row({"chosen", filter.choice});
    }
    if (filter.engine().has_kernels) {
        table.row({"kernel", fmt::format("{} ({})", filter::name_of(filter.isa), plan.isa_reason)});
    }
    table.row({"rule", filter.rule_text});
    if (!packet::is_flow(filter.key.mode)) {
        table.row({"repeats", repeats_text(filter)});
    }
    add_times(table, filter);
    add_costs(table, filter, plan.workers.size());
    if (index < plan.roots.size() && plan.roots[index] != nullptr) {
        table.row({"root", root_text(*plan.roots[index])});
    }
    if (!plan.audits.empty()) {
        table.row({"audit", audit_text(plan.audits[index], plan.workers.size())});
    }
    if (index < plan.paths.size() && plan.paths[index]) {
        table.row({"paths", paths_text(*plan.paths[index], plan.workers.size())});
    }
    std::string text = table.text();
    return fmt::format("filter {}{}", filter.name, text.substr(text.find('\n')));
}

}  // namespace

std::string to_text(const Plan& plan) {
    std::string out = ports_text(plan) + workers_text(plan) + routes_text(plan);
    for (std::size_t i = 0; i < plan.filters.size(); ++i) {
        out += filter_text(plan, i);
    }
    out += fmt::format("packet buffers\n  {} of {} bytes\n", plan.mbufs, plan.data_room);
    out += fmt::format("telemetry\n  of \"{}\", for {}\n", plan.name,
                       plan.telemetry_group
                           ? fmt::format("its user and group \"{}\"", *plan.telemetry_group)
                           : "its user alone");
    if (plan.state_dir) {
        out += fmt::format("state\n  kept in \"{}\": {}\n", *plan.state_dir,
                           format_size(kept_bytes(plan)));
    }
    out += fmt::format(
        "reload\n"
        "  takes up to {} more while all filters are warmed; unecho reload {} says what another "
        "file takes\n",
        format_size(reload_bytes(plan)), option::kDryRun);
    for (const std::string& note : plan.notes) {
        out += fmt::format("note: {}\n", note);
    }
    return out;
}

}  // namespace unecho::appliance
