// SPDX-License-Identifier: BSD-3-Clause
// Fetches everything that an appliance's telemetry reports, once, in the form that the HTTP API,
// metrics and terminal use. DPDK's telemetry has no lists of tables, fractions or booleans; they
// are converted back here.
#pragma once

#include "base/result.h"
#include "monitor/client/json_access.h"
#include "monitor/client/telemetry_client.h"

namespace unecho::monitor {

// Descriptions of counters, constant while a process runs.
struct CounterDescriptions {
    Json help;   // /unecho/help: the meaning of each counter, by block and name
    Json kinds;  // /unecho/kinds: unit, and if it only grows; null from older versions
};

// Errors of TelemetryClient; Errc::kUnsupported if the socket is of no unecho, or not yet.
Result<CounterDescriptions> query_descriptions(TelemetryClient& client);

// Return {"info", "counters", "reasons", "ports", "routes", "workers", "filters", "audit",
// "events", "acknowledged"}: dicts and lists, empty if not reported. A worker's last stalls are its
// "stall_log". before: the last result from the same process, or null; events and stalls in it are
// not fetched again.
Result<Json> query_appliance(TelemetryClient& client, const Json& before);

// Return the counters as they were so long ago, at most an hour: {"totals", "ports", "routes",
// "workers", "filters"}; null from an appliance that keeps none.
Result<Json> query_past(TelemetryClient& client, Nanoseconds ago);

// Tell the appliance that an incident is taken care of, so that every reader shows it as such.
// Errc::kPermission if this user may only read.
Status acknowledge(TelemetryClient& client, const std::string& rule, const std::string& where);

// Convert numbers sent as text to numbers, tables by position to lists, and 0 and 1 to booleans
// where these are meant.
Json normalise_telemetry(const Json& answer);

}  // namespace unecho::monitor
