// SPDX-License-Identifier: BSD-3-Clause
#include "control/stats_fold.h"

#include <algorithm>
#include <utility>

namespace unecho::control {
namespace {

using pipeline::Fate;
using pipeline::kReasons;
using pipeline::PacketBytes;

void add(PacketBytes& to, const PacketBytes& from) {
    fold(pipeline::kPacketBytes, from, to);
}

// received must be there already.
void count_fates(const std::array<PacketBytes, kReasons>& reasons, FateCounts& counts) {
    for (unsigned i = 0; i < kReasons; ++i) {
        switch (pipeline::kReasonTable[i].fate) {
            case Fate::kForwarded:
                counts.forwarded += reasons[i].packets;
                break;
            case Fate::kDiverted:
                counts.diverted += reasons[i].packets;
                break;
            case Fate::kDropped:
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
    return report;
}

void add_outcomes(const Plan& plan, const dataplane::Counters& counters, StatsReport& report) {
    if (counters.epochs != 0) {  // one worker receives all captures
        report.epochs = {counters.epochs, counters.first_epoch};
    }
    for (std::size_t f = 0; f < plan.filters.size(); ++f) {
        fold(packet::kTunnelCounters, counters.tunnels[f], report.filters[f].tunnels);
    }
    for (std::size_t r = 0; r < plan.routes.size(); ++r) {
        for (unsigned i = 0; i < kReasons; ++i) {
            add(report.routes[r].reasons[i], counters.routes[r][i]);
        }
    }
    for (std::size_t p = 0; p < plan.ports.size(); ++p) {
        add(report.ports[p].tx, counters.tx[p]);
    }
}

void add_received(const Plan& plan, const dataplane::Counters& counters, StatsReport& report) {
    for (std::size_t p = 0; p < plan.ports.size(); ++p) {
        add(report.ports[p].rx, counters.rx[p]);
    }
    for (std::size_t r = 0; r < plan.routes.size(); ++r) {
        for (const PortIndex port : plan.routes[r].from) {
            report.routes[r].counts.received += counters.rx[port].packets;
        }
    }
}

WorkerReport worker_report(const Plan& plan, const dataplane::Counters& counters) {
    WorkerReport out;
    fold<dataplane::WorkerCounters>(dataplane::kWorkerCounters, counters, out);
    out.poll_times = counters.poll_times;
    for (std::size_t p = 0; p < plan.ports.size(); ++p) {
        add(out.rx, counters.rx[p]);
    }
    for (std::size_t r = 0; r < plan.routes.size(); ++r) {
        for (const PacketBytes& reason : counters.routes[r]) {
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

void add_crossings(const pipeline::Crossings& from, StatsReport& to) {
    for (std::size_t first = 0; first < from.size(); ++first) {
        for (std::size_t repeated = 0; repeated < from[first].size(); ++repeated) {
            to.crossings[first][repeated] += from[first][repeated];
        }
    }
}

// Ports whose packets a filter sees are those of its routes.
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
    facts.elapsed = report.uptime;
    facts.window = planned.window;
    facts.slack = planned.prediction.slack;
    facts.flow_key = packet::is_flow(planned.key.mode);
    facts.bound = planned.bound;
    facts.planned_rate =
        planned.keys_per_second / engines::share_of(static_cast<unsigned>(workers));
    facts.rate = report.uptime == 0 ? 0
                                    : static_cast<double>(counted.counters.insertions) * kSecond /
                                          static_cast<double>(report.uptime);
    facts.exact = engines::engine_of(planned.geometry) == engines::Engine::kExact;
    std::vector<PortIndex> ports;
    for (const RoutePlan& route : plan.routes) {
        if (route.filter == filter) {
            ports.insert(ports.end(), route.from.begin(), route.from.end());
        }
    }
    for (const PortIndex first : ports) {
        for (const PortIndex repeated : ports) {
            if (const std::uint64_t packets = report.crossings[first][repeated]; packets != 0) {
                facts.crossings.push_back(
                    {plan.ports[first].name, plan.ports[repeated].name, packets});
            }
        }
    }
    return engines::audit_report(std::move(facts));
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
    for (RouteReport& route : report.routes) {
        std::uint64_t settled = 0;
        for (const PacketBytes& reason : route.reasons) {
            settled += reason.packets;
        }
        route.counts.received = std::max(route.counts.received, settled);
    }
}

void finish(StatsReport& report) {
    for (RouteReport& route : report.routes) {
        count_fates(route.reasons, route.counts);
        for (unsigned i = 0; i < kReasons; ++i) {
            add(report.reasons[i], route.reasons[i]);
        }
        fold(kFateCounters, route.counts, report.totals);
    }
}

}  // namespace unecho::control
