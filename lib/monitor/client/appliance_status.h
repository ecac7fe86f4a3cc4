// SPDX-License-Identifier: BSD-3-Clause
// monitor: `unecho serve` and `unecho status`, clients of a running appliance's telemetry socket.
// This header has the last known state of an appliance, which the rest of the module fills in or
// shows.
//
// client/ talks to appliances: discovery.h finds sockets, telemetry_client.h sends one command,
// appliance_query.h fetches everything once, appliance_poller.h does so repeatedly. server/ is
// `unecho serve`: host_monitor.h polls all appliances, http_api.h answers HTTP requests from their
// last replies, so no HTTP client can delay an appliance. page/ is its web page. health/ has the
// rules that say what is wrong, which all others show. status/ has the text of `unecho status`.
//
// Replies are foreign input: text is escaped and cut, sizes are bounded, every wait has a timeout.
// May use base, nlohmann/json and libmicrohttpd; never DPDK.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "monitor/client/appliance_query.h"
#include "monitor/client/json_access.h"
#include "monitor/health/health.h"

namespace unecho::monitor {

enum class ApplianceState : std::uint8_t {
    kRunning,
    kSilent,  // exists, but does not reply, or not to this user
    kGone,    // existed before
    kAbsent,  // is expected, and has not answered yet
};
// "running", "silent", "gone", "absent"
[[nodiscard]] const char* name_of(ApplianceState state);

struct ApplianceStatus {
    std::string name;
    ApplianceState state = ApplianceState::kGone;
    Nanoseconds since = 0;     // start of the state, nanoseconds since 1970
    Nanoseconds answered = 0;  // time of the last reply, likewise
    std::string problem;       // why it is not running, in one line
    bool permitted = true;     // this user may query it
    bool expected = false;     // by the configuration of `unecho serve`
    std::uint64_t starts = 0;  // processes of this name so far
    Nanoseconds query_time = 0;
    Json seen;  // the last result of query_appliance()
    Health health;
    std::shared_ptr<const CounterDescriptions> descriptions;
};
// Two snapshots of one process, for rates.
struct SnapshotPair {
    Json before;  // null: there is none
    Json after;
    Nanoseconds between = 0;
};
using ApplianceStatuses = std::vector<std::shared_ptr<const ApplianceStatus>>;

// Return the appliance's entry in /api/v1/state.
[[nodiscard]] Json to_json(const ApplianceStatus& appliance);

}  // namespace unecho::monitor
