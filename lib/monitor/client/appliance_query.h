// SPDX-License-Identifier: BSD-3-Clause
// One look at an appliance: all that its telemetry tells, in the shape that the server's API, the
// metrics and the terminal read. What DPDK's telemetry cannot say as it is meant (lists of tables,
// fractions, truth) is as it was meant again.
#pragma once

#include "base/result.h"
#include "monitor/client/json_access.h"
#include "monitor/client/telemetry_client.h"

namespace unecho::monitor {

// What does not change while a process runs.
struct CounterDescriptions {
    Json help;   // /unecho/help: what each counter counts, by block and name
    Json kinds;  // /unecho/kinds: its unit, and whether it only grows; null from older versions
};

// Errors as of TelemetryClient; Errc::kUnsupported: it is no unecho, or not yet.
Result<CounterDescriptions> query_descriptions(TelemetryClient& client);

// {"info", "counters", "reasons", "ports", "routes", "workers", "filters", "audit", "events"}:
// dicts and lists, empty where it tells nothing; a worker's last stalls are its "stall_log".
// before: the last look at the same process, or null; events and stalls that it has are not asked
// for again.
Result<Json> query_appliance(TelemetryClient& client, const Json& before);

// Numbers that came as text are numbers, tables by position lists, 0 and 1 truth where that is
// meant.
Json normalise_telemetry(const Json& answer);

}  // namespace unecho::monitor
