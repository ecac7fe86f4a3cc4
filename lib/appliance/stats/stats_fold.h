// SPDX-License-Identifier: BSD-3-Clause
// How the workers' counters add up to a report: pure functions, no threads, no devices.
#pragma once

#include "appliance/stats/stats.h"
#include "dedup/engines/audit_report.h"
#include "dedup/engines/path_report.h"

namespace unecho::appliance {

// Return a report of zeros, with an entry for each port, route, worker and filter of the plan.
StatsReport empty_report(const Plan& plan);

// Add the packets that have left: reasons of routes, tx of ports.
void add_outcomes(const Plan& plan, const dataplane::Counters& counters, StatsReport& report);
// Add the packets that came: rx of ports, and received of routes.
void add_received(const Plan& plan, const dataplane::Counters& counters, StatsReport& report);

WorkerReport worker_report(const Plan& plan, const dataplane::Counters& counters);
void add_filter(const filter::FilterCounters& from, FilterReport& to);
void add_window(const filter::WindowState& from, FilterReport& to);
void add_repeats(const filter::RepeatCounters& from, FilterReport& to);
void add_fill(std::uint64_t fill, FilterReport& to);
void add_audit(const pipeline::AuditTotals& from, FilterReport& to);
void add_crossings(const pipeline::PortPairMatrix& from, pipeline::PortPairMatrix& to);
void add_paths(const pipeline::PathTotals& from, FilterReport& to);

// Return the non-zero pairs of a filter's ports, by name.
std::vector<engines::PortPairCount> port_pair_counts(const Plan& plan, std::size_t filter,
                                                     const pipeline::PortPairMatrix& counted);

engines::AuditReport audit_of(const Plan& plan, std::size_t filter, const StatsReport& report);

// Return a report for each ordered pair of points of each filter whose paths are measured.
std::vector<engines::PathReport> paths_of(const Plan& plan, const StatsReport& report);

// Return the sum over all workers. Their windows end one after another. To the last window that
// ended on any worker, a worker still in it adds what it has counted so far; one that saw no packet
// since adds nothing.
TapTotals sum_of(const std::vector<filter::TapSummary>& workers);

// Raise `received` to the packets that have a reason. With several workers, a late one's last
// answer may lack packets that it received and others settled.
void receive_what_was_settled(StatsReport& report);

// Compute dispositions, in_flight and totals from the sums.
void finish(StatsReport& report);

}  // namespace unecho::appliance
