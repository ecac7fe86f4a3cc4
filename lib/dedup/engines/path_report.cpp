// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/path_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/humanize.h"
#include "dedup/pipeline/paths/quantile.h"

namespace unecho::engines {
namespace {

using nlohmann::ordered_json;

// Ends of the histogram's buckets in reports: 1, 2 and 5 of each power of ten from 1 us to 50 s.
constexpr unsigned kDecades = 8;
constexpr std::array<Nanoseconds, 3> kSteps{1, 2, 5};

double share_of(std::uint64_t part, std::uint64_t all) {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

Nanoseconds rounded(double nanoseconds) {
    return static_cast<Nanoseconds>(std::llround(std::max(nanoseconds, 0.0)));
}

double mean_of(const pipeline::PathDelays& delays) {
    return delays.count == 0 ? 0 : delays.sum / static_cast<double>(delays.count);
}

double variation_of(const pipeline::PathDelays& delays) {
    const std::uint64_t differences = delays.count - delays.first_of_runs;
    return differences == 0 ? 0 : delays.variation / static_cast<double>(differences);
}

ordered_json delay_json(const pipeline::PathDelays& delays) {
    ordered_json out = {{"packets", delays.count}};
    if (delays.count == 0) {
        return out;
    }
    out["mean_ns"] = rounded(mean_of(delays));
    out["variation_ns"] = rounded(variation_of(delays));
    out["min_ns"] = delays.least;
    out["median_ns"] = rounded(pipeline::quantile(delays, 0.5));
    out["p99_ns"] = rounded(pipeline::quantile(delays, 0.99));
    out["p999_ns"] = rounded(pipeline::quantile(delays, 0.999));
    out["max_ns"] = delays.most;
    return out;
}

// Count the fine buckets that end at or below each end; those of the last end have none.
ordered_json histogram_json(const pipeline::PathDelays& delays) {
    using Histogram = decltype(delays.histogram);
    ordered_json out = ordered_json::array();
    unsigned bucket = 0;
    Nanoseconds from = 0;
    Nanoseconds unit = kMicrosecond;
    const auto add = [&](Nanoseconds to, bool last) {
        std::uint64_t packets = 0;
        for (; bucket < Histogram::kBuckets && (last || Histogram::begin_of(bucket + 1) <= to);
             ++bucket) {
            packets += delays.histogram.buckets[bucket].count;
        }
        if (packets != 0) {
            out.push_back({{"from_ns", from}, {"to_ns", to}, {"packets", packets}});
        }
        from = to;
    };
    for (unsigned decade = 0; decade < kDecades; ++decade, unit *= 10) {
        for (const Nanoseconds step : kSteps) {
            add(step * unit, false);
        }
    }
    add(Histogram::begin_of(Histogram::kBuckets), true);
    return out;
}

std::string loss_text(const PathReport& report) {
    if (report.judged == 0) {
        return "not judged yet: of no packet is known that it had to come";
    }
    return fmt::format("{} of {} {}packets missing ({}; 95 % interval {} to {})",
                       format_count(report.missing), format_count(report.judged),
                       report.facts.all ? "" : "sampled ",
                       percent(share_of(report.missing, report.judged)), percent(report.loss.low),
                       percent(report.loss.high));
}

}  // namespace

PathReport path_report(PathFacts facts) {
    PathReport out;
    const pipeline::PathCounters& counted = facts.count.counters;
    out.missing = facts.all ? facts.count.all.missing : counted.missing;
    out.judged = out.missing + (facts.all ? facts.count.all.arrived : counted.arrived);
    out.unannounced = facts.all ? facts.count.all.unannounced : counted.unannounced;
    out.loss = sizing::clopper_pearson(out.missing, out.judged);
    out.lost_here_share = share_of(facts.lost_here, facts.received + facts.lost_here);
    out.loss.low = std::max(out.loss.low - out.lost_here_share, 0.0);
    out.facts = std::move(facts);
    return out;
}

ordered_json to_json(const PathReport& report) {
    const PathFacts& facts = report.facts;
    const pipeline::PathCount& count = facts.count;
    ordered_json out = {{"name", fmt::format("{}>{}", facts.from, facts.to)},
                        {"filter", facts.filter},
                        {"from", facts.from},
                        {"to", facts.to},
                        {"stated", facts.stated},
                        {"packets", facts.all ? "all" : "sample"},
                        {"window_ns", facts.window},
                        {"share", std::ldexp(1.0, -static_cast<int>(facts.sample.bits))}};
    for (const CounterRow<pipeline::PathCounters>& row : pipeline::kPathCounters) {
        out[json_name(row)] = count.counters.*row.value;
    }
    if (facts.all) {
        out["arrived"] = count.all.arrived;
        out["missing"] = report.missing;
        out["unannounced"] = report.unannounced;
    }
    out["loss"] = {{"count", report.missing},
                   {"of", report.judged},
                   {"rate", share_of(report.missing, report.judged)},
                   {"low", report.loss.low},
                   {"high", report.loss.high},
                   {"lost_here", report.lost_here_share}};
    out["max_path_loss"] = facts.max_loss ? ordered_json(*facts.max_loss) : ordered_json(nullptr);
    out["delay"] = delay_json(count.delays);
    out["max_path_delay_ns"] =
        facts.max_delay ? ordered_json(*facts.max_delay) : ordered_json(nullptr);
    out["changes"] = ordered_json::object();
    for (std::size_t i = 0; i < count.changes.size(); ++i) {
        if (count.changes[i] != 0) {
            out["changes"][std::string(packet::kChangeNames[i])] = count.changes[i];
        }
    }
    out["hops"] = count.counters.directed == 0
                      ? 0
                      : count.hops / static_cast<double>(count.counters.directed);
    out["delays"] = histogram_json(count.delays);
    return out;
}

std::string to_text(const PathReport& report) {
    const PathFacts& facts = report.facts;
    const pipeline::PathCounters& counted = facts.count.counters;
    const pipeline::PathDelays& delays = facts.count.delays;
    if (counted.came + report.judged == 0) {
        return "";
    }
    std::string text = fmt::format("  {} > {}: {}\n", facts.from, facts.to, loss_text(report));
    if (delays.count != 0) {
        text += fmt::format(
            "    delay {} in the median, {} at the 99th percentile, {} at most, {} variation\n",
            format_duration(rounded(pipeline::quantile(delays, 0.5))),
            format_duration(rounded(pipeline::quantile(delays, 0.99))),
            format_duration(delays.most), format_duration(rounded(variation_of(delays))));
    }
    std::string others;
    const auto add = [&others](const std::string& what) {
        others += (others.empty() ? "" : ", ") + what;
    };
    for (const CounterRow<pipeline::PathCounters>& row : pipeline::kPathCounters) {
        const std::uint64_t n = row.value == &pipeline::PathCounters::unannounced
                                    ? report.unannounced
                                    : counted.*row.value;
        const bool told = row.value == &pipeline::PathCounters::arrived ||
                          row.value == &pipeline::PathCounters::missing ||
                          row.value == &pipeline::PathCounters::timed ||
                          row.value == &pipeline::PathCounters::came ||
                          row.value == &pipeline::PathCounters::directed;
        if (n != 0 && !told) {
            add(fmt::format("{} {}", row.name, format_count(n)));
        }
    }
    for (std::size_t i = 0; i < facts.count.changes.size(); ++i) {
        if (const std::uint64_t n = facts.count.changes[i]; n != 0) {
            add(fmt::format("{} {}", spaced(packet::kChangeNames[i]), format_count(n)));
        }
    }
    return others.empty() ? text : fmt::format("{}    {}\n", text, others);
}

}  // namespace unecho::engines
