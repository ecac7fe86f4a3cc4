// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/audit_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/humanize.h"

namespace unecho::engines {
namespace {

using filter::AgeHistogram;
using nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> kVerdictNames{"held", "broken", "open"};
// Fewer copies say nothing about their ages.
constexpr std::uint64_t kFewCopies = 1000;
// The factor by which a window or a rate must be off to be mentioned.
constexpr double kMuch = 10;

std::string_view name_of(AuditVerdict verdict) {
    return kVerdictNames.at(static_cast<std::size_t>(verdict));
}

AuditRate rate_of(std::uint64_t count, std::uint64_t of) {
    return {count, of, sizing::clopper_pearson(count, of)};
}

AuditVerdict against(const sizing::Interval& interval, double bound) {
    return interval.high <= bound ? AuditVerdict::kHeld
           : interval.low > bound ? AuditVerdict::kBroken
                                  : AuditVerdict::kOpen;
}

std::optional<Nanoseconds> time_to_confirm(const AuditFacts& facts, const AuditRate& rate) {
    if (!facts.bound || rate.of == 0 || facts.elapsed == 0) {
        return std::nullopt;
    }
    const auto trials = sizing::trials_to_confirm(rate.count, rate.of, *facts.bound);
    const double more = trials ? std::max(0.0, *trials - static_cast<double>(rate.of)) : 0;
    const double time = more / static_cast<double>(rate.of) * static_cast<double>(facts.elapsed);
    constexpr double kMost = 9e18;
    return trials && time < kMost ? std::optional(static_cast<Nanoseconds>(time)) : std::nullopt;
}

std::uint64_t ages_below(const AgeHistogram& ages, Nanoseconds end) {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < AgeHistogram::kBuckets && AgeHistogram::begin_of(i) < end; ++i) {
        sum += ages.at(i);
    }
    return sum;
}

// Return the end of the bucket that covers 99.9 % of the ages in buckets that begin before `end`.
std::optional<Nanoseconds> window_for(const AgeHistogram& ages, Nanoseconds end) {
    const std::uint64_t all = ages_below(ages, end);
    if (all < kFewCopies) {
        return std::nullopt;
    }
    std::uint64_t left = all / 1000;
    unsigned last = 0;
    for (unsigned i = AgeHistogram::kBuckets; i-- != 0;) {
        if (AgeHistogram::begin_of(i) >= end) {
            continue;
        }
        if (ages.at(i) > left) {
            last = i;
            break;
        }
        left -= ages.at(i);
    }
    return AgeHistogram::begin_of(last + 1);
}

// Return "1/100 of it": rounded down to one digit.
std::string part_text(double times) {
    const double unit = std::pow(10, std::floor(std::log10(times)));
    return "1/" + format_number("%.0f", std::floor(times / unit) * unit);
}

// A smaller filter frees no memory that matters.
constexpr std::uint64_t kSmallFilter = 4 << 20;

// Return true if the filter had less room than the traffic needed. Then it must not shrink.
bool is_short_of_room(const AuditReport& report) {
    const filter::AuditCounters& counted = report.facts.counters;
    return counted.misses_load + counted.misses_arena_full + counted.misses_evicted != 0 ||
           counted.doubts_of_echoes != 0 || report.false_drops_verdict == AuditVerdict::kBroken;
}

void advise_window(const AuditReport& report, bool may_shrink, std::vector<std::string>& out) {
    const AuditFacts& facts = report.facts;
    const std::uint64_t inside = ages_below(facts.ages, facts.window + facts.slack);
    const std::uint64_t all = ages_below(facts.ages, std::numeric_limits<Nanoseconds>::max());
    if (facts.flow_key || !report.window_999) {
        return;
    }
    const std::uint64_t older = all - inside;
    const double times = static_cast<double>(facts.window) /
                         static_cast<double>(std::max<Nanoseconds>(*report.window_999, 1));
    if (older * 100 >= all) {
        out.push_back(
            fmt::format("{} of the packets that repeat one are older than the window of {} and its "
                        "slack: if these are copies, a longer window finds them.",
                        percent(static_cast<double>(older) / static_cast<double>(all)),
                        brief_duration(facts.window)));
    } else if (may_shrink && times >= kMuch && facts.filter_bytes >= kSmallFilter) {
        out.push_back(fmt::format(
            "99.9 % of the copies come within {}, and the window is {}: a window as short as that "
            "needs about {} of the memory.",
            brief_duration(*report.window_999), brief_duration(facts.window), part_text(times)));
    }
}

// Each shortage has the remedy of its own cause.
void advise_room(const AuditReport& report, std::vector<std::string>& out) {
    const AuditFacts& facts = report.facts;
    const filter::AuditCounters& counted = facts.counters;
    const auto copies = [](std::uint64_t count) { return format_quantity(count, "sampled copy"); };
    if (counted.misses_stall != 0) {
        out.push_back(copies(counted.misses_stall) +
                      " passed because a worker was away from its ports (stalls): give each worker "
                      "a CPU of its own. A larger filter does not help.");
    }
    if (counted.misses_load != 0) {
        out.push_back(
            fmt::format("{} passed because more packets came than planned, so that the window was "
                        "shorter than {}: raise rate, or configure a shorter window.",
                        copies(counted.misses_load), brief_duration(facts.window)));
    }
    if (counted.misses_arena_full != 0) {
        out.push_back(copies(counted.misses_arena_full) +
                      " passed because the filter could not grow: raise memory.");
    }
    if (counted.misses_evicted != 0) {
        out.push_back(fmt::format(
            "{} passed because the filter's table was full: {}", copies(counted.misses_evicted),
            facts.exact ? "engine = \"line\" keeps as many keys in an eighth of the memory."
                        : "raise rate."));
    }
    if (const std::uint64_t echoes = filter::echo_packets(counted);
        counted.doubts_of_echoes * 100 > echoes) {
        out.push_back(
            percent(static_cast<double>(counted.doubts_of_echoes) / static_cast<double>(echoes)) +
            " of the copies were forwarded as doubts, because the filter is fuller than "
            "planned: raise rate.");
    }
    if (report.false_drops_verdict == AuditVerdict::kBroken) {
        out.push_back(
            "More packets are dropped falsely than max_false_drop allows: raise rate, or "
            "set rule = \"bound\" where the engine can, or engine = \"exact\".");
    }
}

void advise_rate(const AuditReport& report, std::vector<std::string>& out) {
    const AuditFacts& facts = report.facts;
    if (facts.busiest_rate > 0 && facts.planned_rate >= kMuch * facts.busiest_rate &&
        facts.filter_bytes >= kSmallFilter) {
        out.push_back(fmt::format(
            "The filter is planned for {}, and in its busiest hour {} came: that rate needs about "
            "{} of the memory; leave room for bursts.",
            format_rate(facts.planned_rate), format_rate(std::round(facts.busiest_rate)),
            part_text(facts.planned_rate / facts.busiest_rate)));
    }
}

ordered_json rate_json(const AuditRate& rate) {
    return {{"count", rate.count},
            {"of", rate.of},
            {"rate", rate.rate()},
            {"low", rate.interval.low},
            {"high", rate.interval.high}};
}

std::string rate_text(double value) {
    return value == 0 ? "0" : format_number("%.2g", value);
}

// "3 of 2.9e8 new packets, 1e-08 [2.1e-09, 3e-08]"
std::string rate_text(const AuditRate& rate, std::string_view what) {
    return format_count(rate.count) + " of " + format_count(rate.of) + " " + std::string(what) +
           ", " + rate_text(rate.rate()) + " [" + rate_text(rate.interval.low) + ", " +
           rate_text(rate.interval.high) + "]";
}

std::string false_drops_text(const AuditReport& report) {
    std::string text = "false drops: " + rate_text(report.false_drops, "new packets");
    if (report.facts.bound) {
        text += fmt::format(", bound {}: {}", rate_text(*report.facts.bound),
                            name_of(report.false_drops_verdict));
        if (report.false_drops_verdict == AuditVerdict::kOpen && report.confirmed_in) {
            text += fmt::format(", confirmed in about {} at this rate; nothing is wrong until then",
                                brief_duration(*report.confirmed_in));
        }
    }
    return text;
}

struct Explained {
    const char* name;
    const char* words;
    std::uint64_t filter::AuditCounters::*value;
};
constexpr std::array kExplained{
    Explained{"stall", "after a stall", &filter::AuditCounters::misses_stall},
    Explained{"arena_full", "by a full arena", &filter::AuditCounters::misses_arena_full},
    Explained{"evicted", "by a full table", &filter::AuditCounters::misses_evicted},
    Explained{"load", "by more packets than planned", &filter::AuditCounters::misses_load},
};

// List all counters that are not 0, by name.
std::string counted_text(const filter::AuditCounters& counters) {
    std::string line;
    std::string text;
    for (const CounterRow<filter::AuditCounters>& row : filter::kAuditCounters) {
        const std::uint64_t n = counters.*row.value;
        if (n == 0) {
            continue;
        }
        const std::string one = fmt::format("{} {}", spaced(row.name), format_count(n));
        constexpr std::size_t kColumns = 96;
        if (line.size() + 2 + one.size() > kColumns) {
            text += fmt::format("    {}\n", line);
            line.clear();
        }
        line += (line.empty() ? "" : ", ") + one;
    }
    return line.empty() ? text : fmt::format("{}    {}\n", text, line);
}

std::string misses_text(const AuditReport& report) {
    std::string text = fmt::format("misses: {}: {}", rate_text(report.misses, "echoes"),
                                   name_of(report.misses_verdict));
    for (const Explained& row : kExplained) {
        if (const std::uint64_t n = report.facts.counters.*row.value; n != 0) {
            text += fmt::format("; {} more {}", format_count(n), row.words);
        }
    }
    return text;
}

}  // namespace

AuditReport audit_report(AuditFacts facts) {
    AuditReport out;
    const filter::AuditCounters& counted = facts.counters;
    out.false_drops = rate_of(counted.false_drops, filter::new_packets(counted));
    out.misses = rate_of(counted.misses, filter::echo_packets(counted));
    out.facts = std::move(facts);
    if (out.facts.bound) {
        out.false_drops_verdict = against(out.false_drops.interval, *out.facts.bound);
        out.confirmed_in = time_to_confirm(out.facts, out.false_drops);
    }
    out.misses_verdict = out.misses.count != 0 ? AuditVerdict::kBroken
                         : out.misses.of != 0  ? AuditVerdict::kHeld
                                               : AuditVerdict::kOpen;
    out.window_999 = window_for(out.facts.ages, out.facts.window + out.facts.slack);
    advise_room(out, out.advice);
    const bool may_shrink = !is_short_of_room(out);
    advise_window(out, may_shrink, out.advice);
    if (may_shrink) {
        advise_rate(out, out.advice);
    }
    return out;
}

ordered_json to_json(const AuditReport& report) {
    const AuditFacts& facts = report.facts;
    ordered_json out = {{"enabled", true},
                        {"share", std::ldexp(1.0, -static_cast<int>(facts.bits))},
                        {"entries", facts.entries},
                        {"capacity", facts.capacity},
                        {"memory_bytes", facts.memory_bytes}};
    for (const CounterRow<filter::AuditCounters>& row : filter::kAuditCounters) {
        out["counters"][json_name(row)] = facts.counters.*row.value;
    }
    ordered_json& drops = out["false_drops"] = rate_json(report.false_drops);
    drops["bound"] = facts.bound ? ordered_json(*facts.bound) : ordered_json(nullptr);
    drops["verdict"] = name_of(report.false_drops_verdict);
    drops["confirmed_in_ns"] =
        report.confirmed_in ? ordered_json(*report.confirmed_in) : ordered_json(nullptr);
    ordered_json& misses = out["misses"] = rate_json(report.misses);
    for (const Explained& row : kExplained) {
        misses["explained"][row.name] = facts.counters.*row.value;
    }
    misses["verdict"] = name_of(report.misses_verdict);
    out["causes"] = ordered_json::object();
    for (std::size_t i = 0; i < facts.causes.size(); ++i) {
        if (facts.causes[i] != 0) {
            out["causes"][std::string(pipeline::audit_cause_name(i))] = facts.causes[i];
        }
    }
    out["window_999_ns"] =
        report.window_999 ? ordered_json(*report.window_999) : ordered_json(nullptr);
    out["advice"] = report.advice;
    out["ages"] = ordered_json::array();
    for (unsigned i = 0; i < AgeHistogram::kBuckets; ++i) {
        if (facts.ages.at(i) != 0) {
            out["ages"].push_back({{"from_ns", AgeHistogram::begin_of(i)},
                                   {"to_ns", AgeHistogram::begin_of(i + 1)},
                                   {"packets", facts.ages.at(i)}});
        }
    }
    out["crossings"] = to_json(facts.crossings);
    return out;
}

std::vector<PortPairCount> port_pair_counts(
    const pipeline::PortPairMatrix& counted,
    const std::vector<std::pair<PortIndex, std::string>>& ports) {
    std::vector<PortPairCount> out;
    for (const auto& [first, first_name] : ports) {
        for (const auto& [repeated, repeated_name] : ports) {
            if (const std::uint64_t packets = counted[first][repeated]; packets != 0) {
                out.push_back({first_name, repeated_name, packets});
            }
        }
    }
    return out;
}

ordered_json to_json(const std::vector<PortPairCount>& crossings) {
    ordered_json out = ordered_json::array();
    for (const PortPairCount& one : crossings) {
        out.push_back({{"first", one.first}, {"repeated", one.repeated}, {"packets", one.packets}});
    }
    return out;
}

std::string to_text(const AuditReport& report) {
    const AuditFacts& facts = report.facts;
    std::string text = fmt::format(
        "  {}\n  {}\n  {} packets sampled, {}; {} of them not judged", false_drops_text(report),
        misses_text(report), format_count(facts.counters.sampled),
        facts.bits == 0 ? "all keys" : "one key in " + format_count(std::uint64_t{1} << facts.bits),
        format_count(facts.counters.unsettled + facts.counters.not_held));
    if (report.window_999) {
        text += "; 99.9 % of the echoes within " + brief_duration(*report.window_999);
    }
    text += "\n" + counted_text(facts.counters);
    for (const std::string& line : report.advice) {
        text += fmt::format("  advice: {}\n", line);
    }
    return text;
}

}  // namespace unecho::engines
