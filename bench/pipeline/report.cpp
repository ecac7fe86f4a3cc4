// SPDX-License-Identifier: BSD-3-Clause
#include "report.h"

#include <cstdio>
#include <fstream>

#include <nlohmann/json.hpp>
#include <rte_version.h>

#include "base/units.h"
#include "common/machine.h"

namespace unecho::bench {
namespace {

// Return a ratio of means: few windows contain a sampled packet, so a median would not show the
// audit. Windows that took 1.5 times the median or more were interrupted and are left out.
double audit_ratio(const Row& row) {
    const double limit = 1.5 * row.worker.median();
    return row.audited.mean_up_to(limit) / row.worker.mean_up_to(limit);
}

using nlohmann::ordered_json;

ordered_json environment(const RunFacts& facts) {
    ordered_json out = machine_facts();
    out["tsc_hz"] = facts.tsc_hz;
    out["ran_on_cpu"] = facts.cpu;
    out["hugepages"] = facts.hugepages;
    out["dpdk"] = rte_version();
    return out;
}

ordered_json quantiles(const Samples& cycles, double ns_per_cycle) {
    ordered_json out;
    const auto add = [&](const char* name, double p) {
        const double value = cycles.quantile(p);
        out[name] = {{"cycles", value}, {"ns", value * ns_per_cycle}};
    };
    add("p10", 0.1);
    add("p25", 0.25);
    add("median", 0.5);
    add("p90", 0.9);
    out["windows"] = cycles.size();
    return out;
}

// Return the time of the worker that neither stages nor ports account for.
double rest_of(const Row& row) {
    return row.worker.median() - row.view.median() - row.digest.median() - row.decide.median() -
           row.ports.median();
}

ordered_json to_json(const Row& row, double ns_per_cycle) {
    const engines::FilterPlan& plan = row.subject->plan();
    const double rest = rest_of(row);
    return {{"name", row.name()},
            {"engine", plan.name},
            {"geometry", engines::geometry_text(plan.geometry)},
            {"residence", row.residence},
            {"bytes", row.subject->bytes()},
            {"pages", row.subject->on_hugepages() ? "huge" : "plain"},
            {"window_keys", plan.prediction.window_keys},
            {"generation_keys", plan.prediction.generation_keys},
            {"false_drop", plan.prediction.false_drop},
            {"frames", name_of(row.mix)},
            {"echo_percent", row.echo_percent},
            {"packets", row.packets},
            {"echoes_sent", row.found.sent_echoes},
            {"echoes_found", row.found.echoes},
            {"doubts", row.found.doubts},
            {"inline_clears", row.found.inline_clears},
            {"view", quantiles(row.view, ns_per_cycle)},
            {"digest", quantiles(row.digest, ns_per_cycle)},
            {"decide", quantiles(row.decide, ns_per_cycle)},
            {"ports", quantiles(row.ports, ns_per_cycle)},
            {"watch", quantiles(row.watch, ns_per_cycle)},
            {"verdict", {{"median", {{"cycles", rest}, {"ns", rest * ns_per_cycle}}}}},
            {"worker", quantiles(row.worker, ns_per_cycle)},
            {"audited", quantiles(row.audited, ns_per_cycle)},
            {"audit_ratio", audit_ratio(row)},
            {"mpps", 1e3 / (row.worker.median() * ns_per_cycle)}};
}

std::string size_text(const Subject& subject) {
    return format_size(subject.bytes() / 1024 * 1024) + (subject.on_hugepages() ? "" : " plain");
}

void print_row(const Row& row, double ns) {
    std::printf(
        "%-7s %-4s %-19s %5s %4u%% %6.1f %6.1f %6.1f %6.1f %6.1f %8.1f %6.1f %6.1f %7.1f %6.1f "
        "%8.1f %6.3f %6.2f\n",
        row.subject->plan().name.c_str(), row.residence.c_str(), size_text(*row.subject).c_str(),
        name_of(row.mix), row.echo_percent, row.view.median() * ns, row.digest.median() * ns,
        row.decide.median() * ns, row.ports.median() * ns, rest_of(row) * ns,
        row.worker.median() * ns, row.worker.quantile(0.1) * ns, row.worker.quantile(0.9) * ns,
        row.worker.median(), 1e3 / (row.worker.median() * ns), row.audited.median() * ns,
        audit_ratio(row), row.watch.median() * ns);
}

}  // namespace

void print(const RunFacts& facts, const Rows& rows) {
    const double ns = 1e9 / facts.tsc_hz;
    std::printf("%s, TSC %.3f GHz, lcore on cpu %u, %s, bursts of %u, windows of %u packets\n",
                cpu_name().c_str(), facts.tsc_hz / 1e9, facts.cpu,
                facts.hugepages ? "hugepages" : "no hugepages (packed pool)", facts.burst,
                facts.window);
    std::printf("%s, %s\n\n", rte_version(), build_text().c_str());
    std::printf(
        "ns a packet, medians of windows; the worker's p10 and p90, its TSC cycles, Mpps; the same "
        "worker with an audit, and how many times as long it takes; what telling of its time takes "
        "a worker\n");
    std::printf("%-7s %-4s %-19s %5s %5s %6s %6s %6s %6s %6s %8s %6s %6s %7s %6s %8s %6s %6s\n",
                "engine", "in", "table", "frame", "echo", "view", "digest", "decide", "ports",
                "rest", "worker", "p10", "p90", "cycles", "Mpps", "audited", "ratio", "watch");
    for (const auto& row : rows) {
        print_row(*row, ns);
    }
}

Status write_json(const std::string& path, const RunFacts& facts, const Rows& rows) {
    ordered_json out{{"benchmark", "pipeline"},
                     {"smoke", facts.smoke},
                     {"environment", environment(facts)},
                     {"burst", facts.burst},
                     {"window_packets", facts.window}};
    out["rows"] = ordered_json::array();
    for (const auto& row : rows) {
        out["rows"].push_back(to_json(*row, 1e9 / facts.tsc_hz));
    }
    std::ofstream file(path);
    file << out.dump(1) << "\n";
    file.close();
    if (!file) {
        return fail(Errc::kIo, path + ": not written");
    }
    return {};
}

}  // namespace unecho::bench
