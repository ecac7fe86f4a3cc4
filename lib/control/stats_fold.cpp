// SPDX-License-Identifier: BSD-3-Clause
#include "control/stats_fold.h"

#include <algorithm>

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
        report.filters.emplace_back().window = {filter.window, filter.window, 0, 0, 0};
    }
    return report;
}

void add_outcomes(const Plan& plan, const dataplane::Counters& counters, StatsReport& report) {
    if (counters.epochs != 0) {  // one worker receives all captures
        report.epochs = {counters.epochs, counters.first_epoch};
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
