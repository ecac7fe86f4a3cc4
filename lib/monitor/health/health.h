// SPDX-License-Identifier: BSD-3-Clause
// health: the one set of rules that says what is wrong with an appliance. `unecho status`, its
// --check mode, the page, /api/v1/state and the metrics that Prometheus alerts on show what
// check_health() finds, and judge nothing themselves.
//
// rules.cpp has the rules, catalogue.h their names. docs/runbook.md has a section for each name,
// configs/monitoring/alerts.yml an alert; tests compare them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "monitor/client/json_access.h"

namespace unecho::monitor {

enum class ApplianceState : std::uint8_t;  // appliance_status.h

enum class Severity : std::uint8_t {
    kFine,
    kWarning,  // it costs packets or certainty
    kBroken,   // it contradicts a promise
};
// "ok", "warning", "critical"
[[nodiscard]] const char* name_of(Severity severity);

struct Finding {
    std::string_view rule;  // its name in kRules
    Severity severity = Severity::kWarning;
    std::string where;      // "port tap-a"; empty: the appliance
    std::string text;       // what is wrong: a sentence without its stop
    std::string remedy;     // what to do: sentences
    Nanoseconds since = 0;  // since 1970; 0: not known
    bool acknowledged = false;
};

struct Health {
    Severity severity = Severity::kFine;  // of the worst finding that nobody acknowledged
    std::string headline;                 // a few words, with a stop
    std::string text;                     // what they mean
    std::vector<Finding> findings;        // the worst first, and of equal ones the cause first
    Nanoseconds span = 0;                 // of time that was judged
    std::uint64_t lost = 0;               // packets lost in it
};

// The rules judge an appliance that answers by this.
struct Evidence {
    const Json& now;     // a result of query_appliance()
    const Json& before;  // of query_past(): at the beginning of the time to judge; or null
    const Json& hour;    // likewise, an hour ago
    Nanoseconds unix_now = 0;
};
// Unless told otherwise. Samples are ten seconds apart, so what ended is quiet within 50 s.
inline constexpr Nanoseconds kJudgedSpan = 40 * kSecond;

[[nodiscard]] Health check_health(const Evidence& evidence);
// Return the health of one that is silent, gone or absent. problem: "does not answer".
[[nodiscard]] Health health_of_unreachable(ApplianceState state, const std::string& problem,
                                           Nanoseconds since);
// Add that the server cannot write the appliance's history. why: "/a/b: No space left on device"
void add_unkept_history(Health& health, const std::string& why, Nanoseconds since);

// Return "The link of port tap-a is down, since 14:03:07 (70 s ago)" and the remedy: whole
// sentences in one line.
[[nodiscard]] std::string sentences(const Finding& finding, Nanoseconds unix_now);
// Return {"severity", "headline", "text", "span_ns", "lost", "findings": [...]}.
[[nodiscard]] Json to_json(const Health& health);

}  // namespace unecho::monitor
