// SPDX-License-Identifier: BSD-3-Clause
// From workers' counters to a report: sums only, no threads, no devices.
#pragma once

#include "appliance/stats/stats.h"
#include "dedup/engines/audit_report.h"

namespace unecho::control {

// All counters 0, with a place for each port, route, worker and filter of the plan.
StatsReport empty_report(const Plan& plan);

// What became of packets: route reasons, port tx.
void add_outcomes(const Plan& plan, const dataplane::Counters& counters, StatsReport& report);
// What came in: port rx and, by the port's route, received.
void add_received(const Plan& plan, const dataplane::Counters& counters, StatsReport& report);

WorkerReport worker_report(const Plan& plan, const dataplane::Counters& counters);
void add_filter(const filter::FilterCounters& from, FilterReport& to);
void add_window(const filter::WindowState& from, FilterReport& to);
void add_repeats(const filter::RepeatCounters& from, FilterReport& to);
void add_fill(std::uint64_t fill, FilterReport& to);
void add_audit(const pipeline::AuditTotals& from, FilterReport& to);
void add_crossings(const pipeline::PortPairMatrix& from, pipeline::PortPairMatrix& to);

// Name the pairs of a filter's ports that are not 0.
std::vector<engines::PortPairCount> port_pair_counts(const Plan& plan, std::size_t filter,
                                                     const pipeline::PortPairMatrix& counted);

// What the audit of a filter comes to.
engines::AuditReport audit_of(const Plan& plan, std::size_t filter, const StatsReport& report);

// The windows of several workers end one after the other: to the last that ended on any of them a
// worker that is still in it gives what it has so far. One that saw no packet since, or none at
// all, has nothing of it.
TapTotals sum_of(const std::vector<filter::TapSummary>& workers);

// For several workers of which not all answered: what others settled of the packets of one that is
// late was received, though its last answer does not say so.
void receive_what_was_settled(StatsReport& report);

// Fates, in_flight and totals from the sums.
void finish(StatsReport& report);

}  // namespace unecho::control
