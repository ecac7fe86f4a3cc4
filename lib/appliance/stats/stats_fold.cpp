// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/stats/stats_fold.h"

#include <algorithm>
#include <utility>

namespace unecho::appliance {
namespace {

using pipeline::Disposition;
using pipeline::kReasons;
using pipeline::PacketBytes;

void add(PacketBytes& to, const PacketBytes& from) {
    fold(pipeline::kPacketBytes, from, to);
}

// Call each(report, index) for every index at which workers keep routes.
template <typename Each>
void for_each_route(const Plan& plan, StatsReport& report, Each each) {
    std::array<bool, kMaxRoutes> planned{};
    for (std::size_t r = 0; r < plan.routes.size(); ++r) {
        each(report.routes[r], plan.route_place(r));
        planned[plan.route_place(r)] = true;
    }
    for (RouteIndex place = 0; place < kMaxRoutes; ++place) {
        if (!planned[place]) {
            each(report.gone, place);
        }
    }
}

// Call each() for the plan's routes and for the sum of removed ones.
template <typename Each>
void for_each_report(StatsReport& report, Each each) {
    std::for_each(report.routes.begin(), report.routes.end(), each);
    each(report.gone);
}

// `received` must be counted already.
void count_fates(const std::array<PacketBytes, kReasons>& reasons, DispositionCounts& counts) {
    for (unsigned i = 0; i < kReasons; ++i) {
        switch (pipeline::kReasonTable[i].fate) {
            case Disposition::kForwarded:
                counts.forwarded += reasons[i].packets;
                break;
            case Disposition::kDiverted:
                counts.diverted += reasons[i].packets;
                break;
            case Disposition::kDropped:
                counts.dropped += reasons[i].packets;
                break;
        }
    }
    counts.in_flight = counts.received - counts.forwarded - counts.diverted - counts.dropped;
}

}  // namespace

StatsReport empty_report(const Plan& plan) {
    StatsReport report;
    report.ports.resize(plan.ports.size());
    report.routes.resize(plan.routes.size());
    report.workers.resize(plan.workers.size());
    for (const engines::FilterPlan& filter : plan.filters) {
        FilterReport& out = report.filters.emplace_back();
        out.window = {filter.window, filter.window, 0, 0, 0};
        out.planned_fill = filter.planned_fill;
        out.generation = filter.engine().by_generation ? filter.clock.length : 0;
    }
    for (std::size_t f = 0; f < plan.paths.size(); ++f) {
        if (plan.paths[f]) {
            report.filters[f].paths.resize(std::size_t{plan.paths[f]->spec.points} *
                                           plan.paths[f]->spec.points);
        }
    }
    return report;
}

void add_outcomes(const Plan& plan, const dataplane::Counters& counters, StatsReport& report) {
    if (counters.epochs != 0) {  // one worker receives all captures
        report.epochs = {counters.epochs, counters.first_epoch};
    }
    for (std::size_t f = 0; f < plan.filters.size(); ++f) {
        fold(packet::kTunnelCounters, counters.tunnels[plan.filter_place(f)],
             report.filters[f].tunnels);
        fold(dataplane::kSharedFlowsCounters, counters.roots[plan.filter_place(f)],
             report.filters[f].root.asks);
    }
    for_each_route(plan, report, [&](RouteReport& route, RouteIndex place) {
        for (unsigned i = 0; i < kReasons; ++i) {
            add(route.reasons[i], counters.routes[place][i]);
        }
    });
    for (std::size_t p = 0; p < plan.ports.size(); ++p) {
        add(report.ports[p].tx, counters.tx[p]);
    }
}

void add_received(const Plan& plan, const dataplane::Counters& counters, StatsReport& report) {
    for (std::size_t p = 0; p < plan.ports.size(); ++p) {
        add(report.ports[p].rx, counters.rx[p]);
    }
    for_each_route(plan, report, [&](RouteReport& route, RouteIndex place) {
        route.counts.received += counters.received[place];
    });
}

WorkerReport worker_report(const Plan& plan, const dataplane::Counters& counters) {
    WorkerReport out;
    fold<dataplane::WorkerCounters>(dataplane::kWorkerCounters, counters, out);
    out.poll_times = counters.poll_times;
    for (std::size_t p = 0; p < plan.ports.size(); ++p) {
        add(out.rx, counters.rx[p]);
    }
    for (const auto& route : counters.routes) {
        for (const PacketBytes& reason : route) {
            out.settled += reason.packets;
        }
    }
    return out;
}

void add_filter(const filter::FilterCounters& from, FilterReport& to) {
    fold(filter::kFilterCounters, from, to.counters);
}

void add_window(const filter::WindowState& from, FilterReport& to) {
    fold(filter::kWindowCounters, from, to.window);
}

void add_repeats(const filter::RepeatCounters& from, FilterReport& to) {
    fold(filter::kRepeatCounters, from, to.repeats);
}

void add_fill(std::uint64_t fill, FilterReport& to) {
    fold<FilterLoad>(kFilterLoad, {.fill = fill}, to);
}

void add_audit(const pipeline::AuditTotals& from, FilterReport& to) {
    fold(filter::kAuditCounters, from.counters, to.audit.counters);
    to.audit.ages.add(from.ages);
    for (std::size_t i = 0; i < from.causes.size(); ++i) {
        to.audit.causes[i] += from.causes[i];
    }
    to.audit.bits = std::max(to.audit.bits, from.bits);
    to.audit.entries += from.entries;
}

// Totals of other points belong to a configuration that is about to be left.
void add_paths(const pipeline::PathTotals& from, FilterReport& to) {
    const std::size_t points = from.points();
    if (to.paths.size() != points * points) {
        return;
    }
    fold(pipeline::kPathSampleCounters, from.sample(), to.path_sample);
    for (std::size_t i = 0; i < to.paths.size(); ++i) {
        if (i / points != i % points) {
            to.paths[i] += from.at(i / points, i % points).read();
        }
    }
}

void add_crossings(const pipeline::PortPairMatrix& from, pipeline::PortPairMatrix& to) {
    for (std::size_t first = 0; first < from.size(); ++first) {
        for (std::size_t repeated = 0; repeated < from[first].size(); ++repeated) {
            to[first][repeated] += from[first][repeated];
        }
    }
}

// The filter's ports are those of its routes.
std::vector<engines::PortPairCount> port_pair_counts(const Plan& plan, std::size_t filter,
                                                     const pipeline::PortPairMatrix& counted) {
    std::vector<std::pair<PortIndex, std::string>> ports;
    for (const RoutePlan& route : plan.routes) {
        for (std::size_t i = 0; route.filter == filter && i < route.from.size(); ++i) {
            ports.emplace_back(route.from[i], plan.ports[route.from[i]].name);
        }
    }
    return engines::port_pair_counts(counted, ports);
}

// An audit that came with a reload has counted since that reload.
Nanoseconds lifetime_of(const Plan& plan, std::size_t filter, const StatsReport& report) {
    const std::uint64_t since = filter < plan.audit_since.size() ? plan.audit_since[filter] : 0;
    const std::uint64_t late = since > report.start_unix ? since - report.start_unix : 0;
    return report.uptime > late ? report.uptime - late : 0;
}

engines::AuditReport audit_of(const Plan& plan, std::size_t filter, const StatsReport& report) {
    const engines::FilterPlan& planned = plan.filters[filter];
    const FilterReport& counted = report.filters[filter];
    const std::size_t workers = plan.workers.size();
    engines::AuditFacts facts;
    facts.counters = counted.audit.counters;
    facts.ages = counted.audit.ages;
    facts.causes = counted.audit.causes;
    facts.bits = static_cast<unsigned>(counted.audit.bits);
    facts.entries = counted.audit.entries;
    facts.capacity = plan.audits[filter].entries * workers;
    facts.memory_bytes = plan.audits[filter].instance_bytes * workers;
    const Nanoseconds elapsed = lifetime_of(plan, filter, report);
    facts.elapsed = elapsed;
    facts.window = planned.window;
    facts.slack = planned.prediction.slack;
    facts.flow_key = packet::is_flow(planned.key.mode);
    facts.bound = planned.bound;
    facts.planned_rate =
        planned.keys_per_second / engines::share_of(static_cast<unsigned>(workers));
    facts.busiest_rate = counted.busiest.rate;
    facts.filter_bytes = planned.prediction.bytes * workers;
    facts.exact = engines::engine_of(planned.geometry) == engines::Engine::kExact;
    facts.crossings = port_pair_counts(plan, filter, report.crossings);
    return engines::audit_report(std::move(facts));
}

std::vector<engines::PathReport> paths_of(const Plan& plan, const StatsReport& report) {
    std::vector<engines::PathReport> out;
    for (std::size_t f = 0; f < plan.paths.size(); ++f) {
        if (!plan.paths[f]) {
            continue;
        }
        const engines::PathPlan& planned = *plan.paths[f];
        const std::size_t points = planned.points.size();
        if (report.filters[f].paths.size() != points * points) {
            continue;  // nobody counts for this plan yet
        }
        for (std::size_t i = 0; i < points * points; ++i) {
            const std::size_t from = i / points;
            const std::size_t to = i % points;
            if (from == to || (planned.spec.stated && from > to)) {
                continue;
            }
            engines::PathFacts facts;
            facts.filter = plan.filters[f].name;
            facts.from = planned.points[from];
            facts.to = planned.points[to];
            facts.stated = planned.spec.stated;
            facts.all = planned.spec.all;
            facts.count = report.filters[f].paths[i];
            facts.sample = report.filters[f].path_sample;
            facts.window = planned.spec.window;
            facts.max_loss = planned.max_loss;
            facts.max_delay = planned.max_delay;
            for (std::size_t p = 0; p < plan.ports.size(); ++p) {
                if (planned.spec.point_of[p] == to) {
                    const PortReport& port = report.ports[p];
                    facts.received += port.rx.packets;
                    facts.lost_here += port.rx_missed + port.rx_no_mbuf;
                }
            }
            out.push_back(engines::path_report(std::move(facts)));
        }
    }
    return out;
}

TapTotals sum_of(const std::vector<filter::TapSummary>& workers) {
    TapTotals out;
    for (const filter::TapSummary& worker : workers) {
        if (worker.ended) {
            out.last.number = std::max(out.last.number, worker.last.number);
            out.ended = true;
        }
        out.total += worker.before;
        out.total += worker.present.counts;
    }
    for (const filter::TapSummary& worker : workers) {
        if (worker.ended && worker.last.number == out.last.number) {
            out.last.counts += worker.last.counts;
        } else if (out.ended && worker.begun && worker.present.number == out.last.number) {
            out.last.counts += worker.present.counts;
        }
    }
    return out;
}

void receive_what_was_settled(StatsReport& report) {
    for_each_report(report, [](RouteReport& route) {
        std::uint64_t settled = 0;
        for (const PacketBytes& reason : route.reasons) {
            settled += reason.packets;
        }
        route.counts.received = std::max(route.counts.received, settled);
    });
}

void finish(StatsReport& report) {
    for_each_report(report, [&](RouteReport& route) {
        count_fates(route.reasons, route.counts);
        for (unsigned i = 0; i < kReasons; ++i) {
            add(report.reasons[i], route.reasons[i]);
        }
        fold(kDispositionCounters, route.counts, report.totals);
    });
}

}  // namespace unecho::appliance
