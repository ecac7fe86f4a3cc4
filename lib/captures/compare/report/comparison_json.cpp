// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/report/comparison_json.h"

#include <nlohmann/json.hpp>

namespace unecho::compare {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const sizing::Interval& interval) {
    return {{"low", interval.low}, {"high", interval.high}};
}

Json to_json(const Point& point) {
    Json out;
    out["name"] = point.name;
    out["file"] = point.file;
    out["packets"] = point.counts.packets;
    out["compared"] = point.compared;
    out["duplicates"] = point.duplicates;
    out["without_key"] = point.counts.keyless;
    out["cut"] = point.counts.cut;
    out["first_ns"] = point.counts.first;
    out["last_ns"] = point.counts.last;
    out["passed"] = point.passed;
    out["overlooked"] = point.overlooked;
    return out;
}

Json to_json(const ClockModel& clock) {
    Json out;
    out["relation"] = kClockRelationNames.at(static_cast<std::size_t>(clock.relation));
    out["offset_ns"] = clock.line.at(clock.line.begin);
    out["drift_ppm"] = clock.line.drift * 1e6;
    if (clock.bounded) {
        out["offset_low_ns"] = clock.low;
        out["offset_high_ns"] = clock.high;
    }
    return out;
}

Json to_json(const Delays& delays) {
    Json out;
    out["min_ns"] = delays.least;
    out["median_ns"] = delays.median;
    out["mean_ns"] = std::llround(delays.mean);
    out["p99_ns"] = delays.p99;
    out["p999_ns"] = delays.p999;
    out["max_ns"] = delays.most;
    out["variation_ns"] = std::llround(delays.variation);
    return out;
}

Json to_json(const FlowLoss& flow) {
    Json out;
    out["source"] = text_of(flow.flow.source);
    out["destination"] = text_of(flow.flow.destination);
    out["source_port"] = flow.flow.source_port;
    out["destination_port"] = flow.flow.destination_port;
    out["protocol"] = flow.flow.protocol;
    out["sent"] = flow.sent;
    out["missing"] = flow.missing;
    out["median_ns"] = flow.median;
    out["max_ns"] = flow.most;
    return out;
}

Json to_json(const Path& path, const std::vector<Point>& points) {
    Json out;
    out["from"] = points[path.from].name;
    out["to"] = points[path.to].name;
    out["sent"] = path.sent;
    out["arrived"] = path.arrived;
    out["missing"] = path.missing;
    out["loss"] = share_of(path.missing, path.sent);
    out["loss_interval"] = to_json(path.loss);
    out["not_judged"] = path.unjudged;
    out["unannounced"] = path.unannounced;
    out["unannounced_interval"] = to_json(path.unannounced_share);
    if (path.timed) {
        out["delay"] = to_json(path.delays);
    }
    out["reordered"] = path.reordered;
    out["reordered_of_all"] = path.reordered_of_all;
    out["overtaken_by"] = path.farthest;
    Json& changes = out["changes"] = Json::object();
    for (std::size_t i = 0; i < path.changes.size(); ++i) {
        changes[std::string(kChangeNames.at(i))] = path.changes.at(i);
    }
    Json& steps = out["ttl_steps"] = Json::array();
    for (const auto& [step, packets] : path.ttl_steps) {
        steps.push_back({{"step", step}, {"packets", packets}});
    }
    Json& time = out["time"] = Json::array();
    for (const TimeBin& bin : path.time) {
        time.push_back({{"begin_ns", bin.begin},
                        {"sent", bin.sent},
                        {"missing", bin.missing},
                        {"median_ns", bin.median},
                        {"p99_ns", bin.p99}});
    }
    out["flows"] = path.all_flows;
    Json& worst = out["worst_flows"] = Json::array();
    for (const FlowLoss& flow : path.flows) {
        worst.push_back(to_json(flow));
    }
    return out;
}

}  // namespace

Json to_json(const Comparison& comparison) {
    Json out;
    out["compared_share"] = 1.0 / static_cast<double>(std::uint64_t{1} << comparison.sample_bits);
    out["window_ns"] = comparison.window;
    Json& points = out["points"] = Json::array();
    for (const Point& point : comparison.points) {
        points.push_back(to_json(point));
    }
    Json& pairs = out["pairs"] = Json::array();
    for (const PointPair& pair : comparison.pairs) {
        Json one;
        one["a"] = comparison.points[pair.a].name;
        one["b"] = comparison.points[pair.b].name;
        one["matched"] = pair.matched;
        one["clock"] = to_json(pair.clock);
        one["paths"] = {to_json(pair.there, comparison.points),
                        to_json(pair.back, comparison.points)};
        one["only_a"] = pair.only_a;
        one["only_a_flows"] = pair.only_a_flows;
        one["only_b"] = pair.only_b;
        one["only_b_flows"] = pair.only_b_flows;
        one["far"] = pair.far;
        one["cut"] = pair.cut;
        pairs.push_back(std::move(one));
    }
    out["warnings"] = comparison.warnings;
    return out;
}

}  // namespace unecho::compare
