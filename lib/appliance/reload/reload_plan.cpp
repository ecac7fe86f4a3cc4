// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/reload/reload_plan.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "config/compare.h"

namespace unecho::appliance {
namespace {

using Problems = std::vector<config::Problem>;

std::string shown(const std::string& value) {
    return value.empty() ? "none" : value;
}

std::string line_of(const config::KeyDifference& one) {
    const std::string kind(config::kReloadNames.at(static_cast<std::size_t>(one.reload)));
    if (one.before.empty() && one.after == "there") {
        return one.key + " is added";
    }
    if (one.before == "there" && one.after.empty()) {
        return one.key + " is removed";
    }
    return one.key + ": " + shown(one.before) + " -> " + shown(one.after) + " (" + kind + ")";
}

// Return true if both define, pass and steer the same packets alike.
bool same_packets(const config::Filter& one, const config::Filter& other) {
    const auto all = [](const config::Filter& f) {
        return std::tie(f.key, f.non_ip, f.tunnels, f.vxlan_ports, f.tenant, f.tags, f.key_bytes,
                        f.repeats, f.point, f.policy, f.first);
    };
    return all(one) == all(other);
}

bool same_memory(const engines::FilterPlan& one, const engines::FilterPlan& other) {
    const auto all = [](const engines::FilterPlan& f) {
        return std::tie(f.geometry, f.window, f.clock.length, f.load, f.on_full, f.isa,
                        f.instance_bytes);
    };
    // planted: rule-reload-keeps-spec
    return all(one) == all(other) && one.repeats == other.repeats;
}

bool same_judgement(const config::Filter& one, const config::Filter& other) {
    const auto all = [](const config::Filter& f) {
        return std::tie(f.rule, f.max_false_drop, f.false_drop_cost, f.leak_cost, f.classes);
    };
    return all(one) == all(other);
}

template <typename Named>
std::optional<std::size_t> find_named(const std::vector<Named>& list, const std::string& name) {
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i].name == name) {
            return i;
        }
    }
    return std::nullopt;
}

class ReloadPlanner {
  public:
    explicit ReloadPlanner(const ReloadInput& input)
        : input_(input),
          running_(*input.running),
          wanted_(input.wanted->config),
          present_(*input.present->plan) {}

    tl::expected<ReloadPlan, Problems> make() {
        compare();
        if (!problems_.empty()) {
            return tl::unexpected(std::move(problems_));
        }
        const PlanResult& plan = input_.wanted->plan.value();  // compare() found the same ports
        UNECHO_TRY(plan);
        plan_ = *plan;
        keep_ports();
        keep_steering();
        keep_queues();
        keep_buffers();
        keep_shared_flows();
        place_routes();
        place_filters();
        if (!problems_.empty()) {
            return tl::unexpected(std::move(problems_));
        }
        add_up();
        out_.change.plan = std::make_shared<const Plan>(std::move(plan_));
        return std::move(out_);
    }

  private:
    void problem(int line, std::string key, std::string message) {
        problems_.push_back({line, std::move(key), std::move(message)});
    }

    void compare() {
        for (const config::KeyDifference& one : config::compare(running_, wanted_)) {
            if (one.reload == config::ReloadEffect::kRestart) {
                problem(one.line, one.key,
                        fmt::format("{} -> {} needs a restart; a reload changes filters, routes "
                                    "among the ports that are open, and what is told of them",
                                    shown(one.before), shown(one.after)));
            } else {
                out_.lines.push_back(line_of(one));
            }
        }
        if (running_.run.clock == config::Clock::kCapture) {
            problem(0, "run.clock", "a run over captures is not reloaded; start it again");
        }
    }

    void keep_ports() {
        for (std::size_t p = 0; p < plan_.ports.size(); ++p) {
            const PortPlan& before = present_.ports[p];
            PortPlan& port = plan_.ports[p];
            port.setup = before.setup;
            if (present_.steering == SteeringMode::kRss && port.receives &&
                port.setup.rx_queues != present_.workers.size()) {
                problem(0, "port " + port.name,
                        "it did not receive when it was started, and with RSS has no queue for "
                        "each worker; that needs a restart");
            }
        }
    }

    // The cards' settings stay. A reload may add rings before them, and they stay too.
    void keep_steering() {
        if (present_.steering == SteeringMode::kRing || plan_.steering == SteeringMode::kRss ||
            plan_.steering == present_.steering) {
            plan_.steering = present_.steering;
            plan_.steering_reason = present_.steering_reason;
        } else {
            plan_.notes.push_back(
                "RSS sees another owner than the new keys do: from now on "
                "packets go to their owner through rings");
        }
    }

    // A queue stays with its worker; a new one goes to the worker with the fewest.
    void keep_queues() {
        std::vector<std::vector<RxAssignment>> rx(plan_.workers.size());
        for (std::size_t r = 0; r < plan_.routes.size(); ++r) {
            for (const PortIndex port : plan_.routes[r].from) {
                for (QueueId queue = 0; queue < plan_.ports[port].setup.rx_queues; ++queue) {
                    rx[worker_of(port, queue, rx)].push_back(
                        {port, queue, static_cast<RouteIndex>(r)});
                }
            }
        }
        for (std::size_t w = 0; w < rx.size(); ++w) {
            plan_.workers[w].rx = std::move(rx[w]);
        }
    }

    [[nodiscard]] std::size_t worker_of(PortIndex port, QueueId queue,
                                        const std::vector<std::vector<RxAssignment>>& rx) const {
        for (std::size_t w = 0; w < input_.present->sources.size(); ++w) {
            for (const dataplane::RxQueue& source : input_.present->sources[w]) {
                if (source.index == port && source.queue == queue) {
                    return w;
                }
            }
        }
        const auto fewest = std::min_element(
            rx.begin(), rx.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
        return static_cast<std::size_t>(fewest - rx.begin());
    }

    void keep_buffers() {
        if (plan_.mbufs > present_.mbufs) {
            problem(0, "run.mbufs",
                    fmt::format("{} -> {} packet buffers, which so many queues and rings need; "
                                "that needs a restart",
                                present_.mbufs, plan_.mbufs));
        }
        plan_.mbufs = present_.mbufs;
        plan_.data_room = present_.data_room;
    }

    // The thread of a shared flow store keeps the secret and password of its start.
    void keep_shared_flows() {
        for (std::size_t f = 0; f < plan_.roots.size(); ++f) {
            const auto was = find_named(present_.filters, plan_.filters[f].name);
            if (plan_.roots[f] == nullptr || !was || present_.roots[*was] == nullptr) {
                continue;
            }
            const SharedFlowsPlan& before = *present_.roots[*was];
            const SharedFlowsPlan& after = *plan_.roots[f];
            const auto needs_restart = [&](const char* key) {
                problem(wanted_.filters[f].line, fmt::format("filter[{}].root.{}", f, key),
                        "what is in it is not what was there at the start; that needs a restart");
            };
            if (before.layout.text() != after.layout.text()) {
                needs_restart("secret_file");
            } else if (before.asker.password != after.asker.password) {
                needs_restart("password_file");
            }
            plan_.roots[f] = present_.roots[*was];
        }
    }

    // The index of a removed route is never reused: its counters stay in the totals.
    void place_routes() {
        out_.route_names = *input_.route_names;
        for (std::size_t r = 0; r < plan_.routes.size(); ++r) {
            const std::string& name = plan_.routes[r].name;
            const auto known = std::find(out_.route_names.begin(), out_.route_names.end(), name);
            if (known == out_.route_names.end() && out_.route_names.size() == kMaxRoutes) {
                problem(
                    wanted_.routes[r].line, fmt::format("route[{}]", r),
                    fmt::format("\"{}\" is one more than the {} names of routes that one process "
                                "takes, those that are gone included; that needs a restart",
                                name, kMaxRoutes));
                return;
            }
            plan_.route_places.push_back(static_cast<RouteIndex>(known - out_.route_names.begin()));
            const auto was = find_named(present_.routes, name);
            plan_.route_since.push_back(was ? since(present_.route_since, *was) : input_.now_unix);
            if (known == out_.route_names.end()) {
                out_.route_names.push_back(name);
            }
        }
    }

    static std::uint64_t since(const std::vector<std::uint64_t>& all, std::size_t i) {
        return i < all.size() ? all[i] : 0;
    }

    void place_filters() {
        std::array<bool, kMaxFilters> taken{};
        for (std::size_t f = 0; f < present_.filters.size(); ++f) {
            taken[present_.filter_place(f)] = true;
        }
        for (std::size_t f = 0; f < plan_.filters.size(); ++f) {
            const auto was = find_named(present_.filters, plan_.filters[f].name);
            if (was) {
                plan_.filter_places.push_back(present_.filter_place(*was));
                plan_.filter_since.push_back(since(present_.filter_since, *was));
                decide(f, *was);
                continue;
            }
            const auto free = std::find(taken.begin(), taken.end(), false);
            if (free == taken.end()) {
                problem(wanted_.filters[f].line, fmt::format("filter[{}]", f),
                        fmt::format("one more than the {} filters of a process while those before "
                                    "are still in use; remove them first",
                                    kMaxFilters));
                return;
            }
            *free = true;
            plan_.filter_places.push_back(static_cast<FilterIndex>(free - taken.begin()));
            plan_.filter_since.push_back(input_.now_unix);
            add(FilterChange::kNew, false, true, input_.now_unix);
        }
    }

    void add(FilterChange change, bool judge_anew, bool audit_anew, std::uint64_t audit_since) {
        out_.change.filters.push_back(change);
        out_.change.judge_anew.push_back(judge_anew);
        out_.change.audit_anew.push_back(audit_anew);
        plan_.audit_since.push_back(audit_since);
    }

    void say(const engines::FilterPlan& filter, const std::string& what) {
        out_.lines.push_back(fmt::format("filter \"{}\" {}", filter.name, what));
    }

    // An audit knows the points that its filter had when it began.
    [[nodiscard]] bool same_paths(std::size_t f, std::size_t was) const {
        if (f >= plan_.paths.size() || was >= present_.paths.size()) {
            return true;
        }
        const auto& after = plan_.paths[f];
        const auto& before = present_.paths[was];
        return after.has_value() == before.has_value() &&
               (!after || (after->spec == before->spec && after->points == before->points));
    }

    void decide(std::size_t f, std::size_t was) {
        const engines::FilterPlan& after = plan_.filters[f];
        const engines::FilterPlan& before = present_.filters[was];
        const config::Filter& wanted = wanted_.filters[f];
        const config::Filter& running = running_.filters[was];
        const bool audit = !(running_.audit == wanted_.audit) || !same_paths(f, was);
        const std::uint64_t now = input_.now_unix;
        if (!same_packets(running, wanted)) {
            say(after,
                "begins anew, empty: what the one before knew of packets does not fit its "
                "keys");
            return add(FilterChange::kReplaced, false, true, now);
        }
        if (same_memory(after, before)) {
            return add(FilterChange::kKept, !same_judgement(running, wanted), audit,
                       audit ? now : since(present_.audit_since, was));
        }
        if (after.bound && !before.engine().estimates_chance &&
            before.prediction.false_drop > *after.bound) {
            say(after,
                "begins anew, empty: the one before, which cannot tell the chance of an "
                "accident, was planned for more than max_false_drop");
            return add(FilterChange::kReplaced, false, true, now);
        }
        say(after, fmt::format("is warmed: for {} the one before is asked too; echoes younger than "
                               "{} are found throughout",
                               format_duration(after.window + after.prediction.slack +
                                               std::max<Nanoseconds>(after.clock.length, 1)),
                               format_duration(std::min(after.window, before.window))));
        add(FilterChange::kWarmed, false, true, now);
    }

    void add_up() {
        const std::uint64_t workers = plan_.workers.size();
        for (std::size_t f = 0; f < plan_.filters.size(); ++f) {
            if (out_.change.filters[f] != FilterChange::kKept) {
                out_.bytes += plan_.filters[f].instance_bytes * workers;
            }
            if (f < plan_.audits.size() && out_.change.audit_anew[f]) {
                out_.bytes += plan_.audits[f].instance_bytes * workers;
                out_.bytes += plan_.paths[f] ? plan_.paths[f]->instance_bytes() * workers : 0;
            }
        }
        for (const RoutePlan& route : plan_.routes) {
            const auto was = find_named(present_.routes, route.name);
            if (route.taps && !(was && present_.routes[*was].taps == route.taps)) {
                out_.bytes += route.taps->instance_bytes * workers;
            }
        }
        if (!out_.lines.empty()) {
            out_.lines.push_back("memory: " + format_size(out_.bytes) + " is allocated for it");
        }
    }

    const ReloadInput& input_;
    const config::Config& running_;
    const config::Config& wanted_;
    const Plan& present_;
    Plan plan_;
    ReloadPlan out_;
    Problems problems_;
};

}  // namespace

WantedConfig WantedConfig::make(config::Config config, const Machine& machine,
                                const std::vector<eal::DeviceInfo>& facts) {
    WantedConfig wanted{std::move(config), std::nullopt};
    if (wanted.config.ports.size() == facts.size()) {
        wanted.plan = make_plan(wanted.config, machine, facts);
    }
    return wanted;
}

std::vector<eal::DeviceInfo> facts_of(const Plan& plan) {
    std::vector<eal::DeviceInfo> facts;
    for (const PortPlan& port : plan.ports) {
        facts.push_back(port.facts);
    }
    return facts;
}

tl::expected<ReloadPlan, Problems> plan_reload(const ReloadInput& input) {
    return ReloadPlanner(input).make();
}

}  // namespace unecho::appliance
