// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/health/health.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/option_names.h"
#include "monitor/client/appliance_status.h"
#include "monitor/health/catalogue.h"

namespace unecho::monitor {
namespace {

// Return "14:03:07", or "2026-11-28 14:03:07" on another day than now, in local time.
std::string clock_text(Nanoseconds unix_ns, Nanoseconds unix_now) {
    const auto local = [](Nanoseconds time) {
        const auto seconds = static_cast<std::time_t>(time / kSecond);
        std::tm out{};
        localtime_r(&seconds, &out);
        return out;
    };
    const std::tm then = local(unix_ns);
    const std::tm now = local(unix_now);
    const bool today = then.tm_yday == now.tm_yday && then.tm_year == now.tm_year;
    std::array<char, 64> text{};
    return {text.data(), std::strftime(text.data(), text.size(), today ? "%T" : "%F %T", &then)};
}

}  // namespace

const char* name_of(Severity severity) {
    static constexpr std::array kNames{"ok", "warning", "critical"};
    return kNames.at(static_cast<std::size_t>(severity));
}

Health health_of_unreachable(ApplianceState state, const std::string& problem, Nanoseconds since) {
    const bool gone = state == ApplianceState::kGone;
    const bool absent = state == ApplianceState::kAbsent;
    Finding finding;
    finding.rule = absent ? "absent" : "down";
    const Rule& rule = kRules.at(place_of(finding.rule));
    finding.severity = rule.severity;
    finding.text =
        gone ? "The appliance is gone: no process answers by its name" : "The appliance " + problem;
    finding.remedy = gone     ? "Look into the log of unecho run for the reason, and start it."
                     : absent ? "Start it, or remove its name from what " + option::kExpect +
                                    " of unecho serve lists."
                              : "See whether its process hangs or is stopped, and restart it.";
    finding.since = since;
    Health out;
    out.severity = finding.severity;
    out.headline = gone ? "The appliance is gone." : rule.headline;
    out.text = fmt::format("{}. {}", finding.text, finding.remedy);
    out.findings.push_back(std::move(finding));
    return out;
}

void add_unkept_history(Health& health, const std::string& why, Nanoseconds since) {
    Finding finding;
    finding.rule = "history-not-kept";
    const Rule& rule = kRules.back();
    finding.severity = rule.severity;
    finding.text = "The server keeps the history in memory only: " + why;
    finding.remedy = "Make room on that disk; the server tries again every ten seconds.";
    finding.since = since;
    if (health.severity == Severity::kFine) {
        health.severity = finding.severity;
        health.headline = rule.headline;
        health.text = fmt::format("{}. {}", finding.text, finding.remedy);
    }
    // It is the last rule, but acknowledged findings come after all others.
    const auto at = std::find_if(health.findings.begin(), health.findings.end(),
                                 [](const Finding& each) { return each.acknowledged; });
    health.findings.insert(at, std::move(finding));
}

std::string sentences(const Finding& finding, Nanoseconds unix_now) {
    std::string out = finding.text;
    if (finding.since != 0) {
        const Nanoseconds ago = unix_now > finding.since ? unix_now - finding.since : 0;
        out += fmt::format(
            ", since {} ({})", clock_text(finding.since, unix_now),
            ago < kSecond ? "just now" : brief_duration(ago / kSecond * kSecond) + " ago");
    }
    return fmt::format("{}. {}", out, finding.remedy);
}

Json to_json(const Health& health) {
    Json out = {{"severity", name_of(health.severity)},
                {"headline", health.headline},
                {"text", health.text},
                {"span_ns", health.span},
                {"lost", health.lost},
                {"findings", Json::array()}};
    for (const Finding& finding : health.findings) {
        out["findings"].push_back(
            {{"rule", finding.rule},
             {"severity", name_of(finding.severity)},
             {"where", finding.where},
             {"headline", kRules[place_of(finding.rule)].headline},
             {"text", finding.text},
             {"remedy", finding.remedy},
             {"since_ns", finding.since},
             {"acknowledged", finding.acknowledged},
             {"runbook", std::string(kRunbook) + "#" + std::string(finding.rule)}});
    }
    return out;
}

}  // namespace unecho::monitor
