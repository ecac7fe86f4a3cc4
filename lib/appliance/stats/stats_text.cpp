// SPDX-License-Identifier: BSD-3-Clause
// The report as JSON and as the table at exit.
#include <algorithm>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "appliance/stats/stats.h"
#include "appliance/stats/stats_fold.h"
#include "base/humanize.h"
#include "base/join_text.h"
#include "base/table.h"
#include "base/utf8.h"
#include "packets/keys/key.h"

namespace unecho::appliance {
namespace {

using nlohmann::ordered_json;
using pipeline::kReasons;
using pipeline::kReasonTable;

// Add a member for each row, named by the row behind a prefix.
template <typename Block, std::size_t N>
void add_rows(ordered_json& to, const CounterRows<Block, N>& rows, const Block& block,
              const std::string& prefix = "") {
    for (const CounterRow<Block>& row : rows) {
        to[prefix + json_name(row)] = block.*row.value;
    }
}

template <typename Block, std::size_t N>
ordered_json json_of(const CounterRows<Block, N>& rows, const Block& block) {
    ordered_json out;
    add_rows(out, rows, block);
    return out;
}

ordered_json json_of(const std::array<pipeline::PacketBytes, kReasons>& reasons) {
    ordered_json out = ordered_json::object();
    for (unsigned i = 0; i < kReasons; ++i) {
        out[std::string(kReasonTable[i].name)] = reasons[i].packets;
    }
    return out;
}

ordered_json json_of(const std::string& name, const PortReport& port) {
    ordered_json out = {{"name", name}, {"link_up", port.link_up}};
    add_rows(out, pipeline::kPacketBytes, port.rx, "rx_");
    add_rows(out, pipeline::kPacketBytes, port.tx, "tx_");
    add_rows<eal::DeviceCounters>(out, eal::kDeviceCounters, port);
    return out;
}

ordered_json taps_json(const Plan& plan, const RoutePlan& route, const TapTotals& taps) {
    ordered_json out = {{"a", plan.ports[route.from[0]].name},
                        {"b", plan.ports[route.from[1]].name},
                        {"window_ns", route.taps->window},
                        {"planned_flows", route.taps->flows}};
    if (taps.ended) {
        out["last"] = {{"begin_ns", taps.last.number * route.taps->window}};
        add_rows(out["last"], filter::kTapCounters, taps.last.counts);
    }
    out["total"] = json_of(filter::kTapCounters, taps.total);
    return out;
}

ordered_json json_of(const Plan& plan, const RoutePlan& plan_route, const RouteReport& route) {
    ordered_json out;
    out["name"] = plan_route.name;
    out["from"] = ordered_json::array();
    for (const PortIndex port : plan_route.from) {
        out["from"].push_back(plan.ports[port].name);
    }
    out["to"] = plan.ports[plan_route.to].name;
    out["filter"] = plan.filters[plan_route.filter].name;
    add_rows(out, kDispositionCounters, route.counts);
    out["reasons"] = json_of(route.reasons);
    if (plan_route.taps) {
        out["taps"] = taps_json(plan, plan_route, route.taps);
    }
    return out;
}

// One member for each upper bound; the last bucket has none.
ordered_json json_of(const dataplane::PollTimes& times) {
    ordered_json out;
    for (unsigned i = 0; i + 1 < dataplane::PollTimes::kBuckets; ++i) {
        out[fmt::format("below_{}_ns", dataplane::PollTimes::below(i))] = times.polls.at(i);
    }
    out["longer"] = times.polls.back();
    return out;
}

ordered_json json_of(LcoreId lcore, const WorkerReport& worker) {
    ordered_json out = {{"lcore", lcore}, {"answering", worker.answering}};
    add_rows(out, pipeline::kPacketBytes, worker.rx, "rx_");
    out["settled"] = worker.settled;
    add_rows<dataplane::WorkerCounters>(out, dataplane::kWorkerCounters, worker);
    out["poll_times"] = json_of(worker.poll_times);
    return out;
}

// queued_before and queued_after are absent if the driver cannot count them, or the worker had no
// time to read them.
ordered_json json_of(const StallRecord& record) {
    const dataplane::Stall& stall = record.stall;
    ordered_json out = {{"number", record.number},
                        {"unix_ns", record.unix_ns},
                        {"at_ns", stall.begin},
                        {"took_ns", stall.took},
                        {"stage", dataplane::kStageNames[static_cast<std::size_t>(stall.stage)]},
                        {"packets", stall.packets}};
    if (stall.queued_before != dataplane::Stall::kUnknown) {
        out["queued_before"] = stall.queued_before;
    }
    if (stall.queued_after != dataplane::Stall::kUnknown) {
        out["queued_after"] = stall.queued_after;
    }
    out["lost"] = record.lost;
    return out;
}

ordered_json stalls_json(const WorkerReport& worker) {
    ordered_json out = ordered_json::array();
    for (const StallRecord& record : worker.stall_log) {
        out.push_back(json_of(record));
    }
    return out;
}

ordered_json events_json(const std::vector<Event>& events) {
    ordered_json out = ordered_json::array();
    for (const Event& event : events) {
        out.push_back({{"number", event.number},
                       {"unix_ns", event.unix_ns},
                       {"kind", event.kind},
                       {"text", event.text}});
    }
    return out;
}

// Add when a reload created this entry.
void add_since(ordered_json& out, const std::vector<std::uint64_t>& since, std::size_t i) {
    if (i < since.size() && since[i] != 0) {
        out["since_unix_ns"] = since[i];
    }
}

std::string on_full_name(const engines::FilterPlan& plan) {
    return plan.on_full
               ? std::string(config::kOnFullNames.at(static_cast<std::size_t>(*plan.on_full)))
           : plan.engine().by_generation ? "none"
                                         : "oldest";
}

ordered_json json_of(const engines::FilterPlan& plan, const FilterReport& filter) {
    ordered_json out = {{"name", plan.name},
                        {"engine", plan.engine().name},
                        {"key", packet::name_of(plan.key.mode)},
                        {"rule", config::kRuleNames.at(static_cast<std::size_t>(plan.rule))},
                        {"window_ns", plan.window},
                        {"on_full", on_full_name(plan)},
                        {"slack_ns", plan.prediction.slack},
                        {"predicted_false_drop", plan.prediction.false_drop}};
    add_rows(out, filter::kWindowCounters, filter.window);
    add_rows(out, filter::kFilterCounters, filter.counters);
    add_rows(out, filter::kRepeatCounters, filter.repeats);
    add_rows(out, packet::kTunnelCounters, filter.tunnels);
    add_rows<FilterLoad>(out, kFilterLoad, filter);
    out["phases"] = plan.prediction.phases;
    return out;
}

ordered_json root_json(const SharedFlowsPlan& plan, const SharedFlowsReport& root) {
    ordered_json out = {{"name", plan.layout.spec().name}, {"applies", plan.asker.tells}};
    add_rows(out, dataplane::kSharedFlowsCounters, root.asks);
    add_rows(out, shared_flows::kCounters, root.answers);
    return out;
}

std::string share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? ""
                      : format_number("%.2f %%", 100.0 * static_cast<double>(part) /
                                                     static_cast<double>(whole));
}

// Columns of counters: all of a block, or only those that are not 0 in some row.
template <typename Block, std::size_t N>
class Columns {
  public:
    explicit Columns(const CounterRows<Block, N>& rows, std::string prefix = "")
        : rows_(rows.begin(), rows.end()), prefix_(std::move(prefix)) {}
    template <typename Blocks, typename Select>
    Columns(const CounterRows<Block, N>& rows, const Blocks& blocks, const Select& select,
            bool with_times = true) {
        for (const CounterRow<Block>& row : rows) {
            if ((with_times || row.unit != CounterUnit::kNanoseconds) &&
                std::any_of(blocks.begin(), blocks.end(), [&](const auto& block) {
                    return static_cast<const Block&>(select(block)).*row.value != 0;
                })) {
                rows_.push_back(row);
            }
        }
    }

    void name(std::vector<std::string>& header) const {
        for (const CounterRow<Block>& row : rows_) {
            header.push_back(">" + prefix_ + spaced(row.name));
        }
    }
    void fill(const Block& block, std::vector<std::string>& cells) const {
        for (const CounterRow<Block>& row : rows_) {
            const std::uint64_t value = block.*row.value;
            const bool time = row.unit == CounterUnit::kNanoseconds;
            cells.push_back(!time        ? std::to_string(value)
                            : value == 0 ? "-"
                                         : format_duration(value));
        }
    }

  private:
    std::vector<CounterRow<Block>> rows_;
    std::string prefix_;
};

std::string ports_text(const Plan& plan, const StatsReport& report) {
    const Columns rx(pipeline::kPacketBytes, "rx ");
    const Columns tx(pipeline::kPacketBytes, "tx ");
    const Columns lost(
        eal::kDeviceCounters, report.ports, [](const PortReport& port) -> auto& { return port; });
    std::vector<std::string> header{"port"};
    rx.name(header);
    tx.name(header);
    lost.name(header);
    header.emplace_back("link");
    TextTable table(header);
    for (std::size_t i = 0; i < plan.ports.size(); ++i) {
        const PortReport& p = report.ports[i];
        std::vector<std::string> row{plan.ports[i].name};
        rx.fill(p.rx, row);
        tx.fill(p.tx, row);
        lost.fill(p, row);
        row.emplace_back(p.link_up ? "up" : "down");
        table.row(std::move(row));
    }
    return table.text();
}

const char* fate_name(pipeline::Disposition fate) {
    switch (fate) {
        case pipeline::Disposition::kForwarded:
            return "forwarded";
        case pipeline::Disposition::kDiverted:
            return "diverted";
        case pipeline::Disposition::kDropped:
            return "dropped";
    }
    return "";
}

// Replace the letter of a tap by its name: "only tap-a" for "only_a".
std::string with_tap(const Plan& plan, const RoutePlan& route, std::string_view name) {
    for (std::size_t tap = 0; tap < route.from.size(); ++tap) {
        const std::string letter{'_', static_cast<char>('a' + tap)};
        if (name.ends_with(letter)) {
            name.remove_suffix(letter.size());
            return fmt::format("{} {}", spaced(name), plan.ports[route.from[tap]].name);
        }
    }
    return spaced(name);
}

std::string taps_text(const Plan& plan, const RoutePlan& route, const TapTotals& taps) {
    TextTable table(
        {"flows of " + format_duration(route.taps->window), ">last window", ">all windows"});
    for (const CounterRow<filter::TapCounts>& row : filter::kTapCounters) {
        table.row({with_tap(plan, route, row.name),
                   taps.ended ? std::to_string(taps.last.counts.*row.value) : "-",
                   std::to_string(taps.total.*row.value)});
    }
    return table.text();
}

// Such as "received 3 = forwarded 2 + dropped 1".
std::string sum_text(const DispositionCounts& counts) {
    std::string text;
    for (const CounterRow<DispositionCounts>& row : kDispositionCounters) {
        const bool first = &row == kDispositionCounters.data();
        const bool second = &row == kDispositionCounters.data() + 1;
        text.append(first    ? ""
                    : second ? " = "
                             : " + ")
            .append(spaced(row.name))
            .append(" ")
            .append(std::to_string(counts.*row.value));
    }
    return text;
}

std::string route_text(const Plan& plan, std::size_t index, const RouteReport& route) {
    const RoutePlan& planned = plan.routes[index];
    const std::string from =
        join_text(planned.from, ", ", [&](PortIndex port) { return plan.ports[port].name; });
    TextTable table({"fate", "reason", ">packets", ">share", "meaning"});
    for (unsigned i = 0; i < kReasons; ++i) {
        if (route.reasons[i].packets == 0) {
            continue;
        }
        table.row({fate_name(kReasonTable[i].fate), std::string(kReasonTable[i].name),
                   std::to_string(route.reasons[i].packets),
                   share(route.reasons[i].packets, route.counts.received),
                   std::string(kReasonTable[i].help)});
    }
    // A generated name repeats what follows it.
    const bool named = !planned.name.empty() && planned.name.find('>') == std::string::npos;
    return "\nroute " + std::to_string(index) + (named ? " " + planned.name : "") + ": " + from +
           " -> " + plan.ports[planned.to].name + ", filter " + plan.filters[planned.filter].name +
           "\n" + table.text() + "  " + sum_text(route.counts) + "\n" +
           (planned.taps ? taps_text(plan, planned, route.taps) : "");
}

// Such as "1.53 ms after 12 s"; "-" if the window was never shorter than configured.
std::string shortest_text(const engines::FilterPlan& plan, const FilterReport& filter) {
    return filter.window.shortest >= plan.window
               ? "-"
               : fmt::format("{} after {}", format_duration(filter.window.shortest),
                             format_duration(filter.window.shortest_at));
}

std::string workers_text(const Plan& plan, const StatsReport& report) {
    const Columns counted(
        dataplane::kWorkerCounters, report.workers,
        [](const WorkerReport& worker) -> auto& { return worker; });
    std::vector<std::string> header{"worker", ">lcore", ">rx packets", ">settled"};
    counted.name(header);
    TextTable table(header);
    for (std::size_t i = 0; i < plan.workers.size(); ++i) {
        const WorkerReport& w = report.workers[i];
        std::vector<std::string> row{std::to_string(i), std::to_string(plan.workers[i].lcore),
                                     std::to_string(w.rx.packets), std::to_string(w.settled)};
        counted.fill(w, row);
        table.row(std::move(row));
    }
    return "\n" + table.text();
}

std::string stalls_text(const StatsReport& report) {
    constexpr std::size_t kShown = 10;
    struct Shown {
        std::size_t worker;
        const StallRecord* record;
    };
    std::vector<Shown> all;
    for (std::size_t w = 0; w < report.workers.size(); ++w) {
        for (const StallRecord& record : report.workers[w].stall_log) {
            all.push_back({w, &record});
        }
    }
    if (all.empty()) {
        return "";
    }
    std::stable_sort(all.begin(), all.end(), [](const Shown& one, const Shown& other) {
        return one.record->stall.took > other.record->stall.took;
    });
    all.resize(std::min(all.size(), kShown));
    const auto depth = [](std::uint32_t packets) {
        return packets == dataplane::Stall::kUnknown ? "-" : std::to_string(packets);
    };
    TextTable table({"longest stalls", ">worker", ">after", ">took", "in", ">packets",
                     ">queued before", ">queued then", ">lost"});
    for (const Shown& shown : all) {
        const dataplane::Stall& stall = shown.record->stall;
        table.row({"", std::to_string(shown.worker), format_duration(stall.begin),
                   format_duration(stall.took),
                   std::string(dataplane::kStageNames[static_cast<std::size_t>(stall.stage)]),
                   std::to_string(stall.packets), depth(stall.queued_before),
                   depth(stall.queued_after), std::to_string(shown.record->lost)});
    }
    return "\n" + table.text();
}

std::string filters_text(const Plan& plan, const StatsReport& report) {
    const Columns counted(
        filter::kFilterCounters, report.filters,
        [](const FilterReport& f) -> auto& { return f.counters; });
    // The times of the window follow as text.
    const Columns turns(
        filter::kWindowCounters, report.filters,
        [](const FilterReport& f) -> auto& { return f.window; }, false);
    std::vector<std::string> header{"filter", "engine", ">longest generation"};
    counted.name(header);
    turns.name(header);
    header.insert(header.end(), {">window", ">shortest"});
    TextTable table(header);
    for (std::size_t i = 0; i < plan.filters.size(); ++i) {
        const FilterReport& f = report.filters[i];
        std::vector<std::string> row{
            plan.filters[i].name, std::string(plan.filters[i].engine().name),
            f.longest_generation == 0 ? "-" : format_duration(f.longest_generation)};
        counted.fill(f.counters, row);
        turns.fill(f.window, row);
        row.insert(row.end(),
                   {format_duration(f.window.achieved), shortest_text(plan.filters[i], f)});
        table.row(std::move(row));
    }
    return "\n" + table.text();
}

std::string tunnels_text(const Plan& plan, const StatsReport& report) {
    std::vector<std::string> header{"filter"};
    for (const auto& row : packet::kTunnelCounters) {
        header.push_back(">" + spaced(row.name));
    }
    TextTable table(header);
    bool any = false;
    for (std::size_t i = 0; i < plan.filters.size(); ++i) {
        if (!plan.filters[i].key.tunnels.any()) {
            continue;
        }
        any = true;
        std::vector<std::string> row{plan.filters[i].name};
        for (const auto& counter : packet::kTunnelCounters) {
            row.push_back(std::to_string(report.filters[i].tunnels.*counter.value));
        }
        table.row(std::move(row));
    }
    return any ? "\n" + table.text() : "";
}

std::string roots_text(const Plan& plan, const StatsReport& report) {
    std::string out;
    for (std::size_t i = 0; i < plan.roots.size(); ++i) {
        if (plan.roots[i] == nullptr) {
            continue;
        }
        TextTable table({"root", ">flows", "meaning"});
        const auto add = [&](const auto& rows, const auto& block) {
            for (const auto& row : rows) {
                const std::uint64_t value = block.*row.value;
                const bool time = row.unit == CounterUnit::kNanoseconds;
                table.row({spaced(row.name), time ? format_duration(value) : std::to_string(value),
                           std::string(row.help)});
            }
        };
        add(dataplane::kSharedFlowsCounters, report.filters[i].root.asks);
        add(shared_flows::kCounters, report.filters[i].root.answers);
        std::string text = table.text();
        out += fmt::format("\nroot {} of filter {}{}{}", plan.roots[i]->layout.spec().name,
                           plan.filters[i].name, plan.roots[i]->asker.tells ? "" : ", counts alone",
                           text.substr(text.find('\n')));
    }
    return out;
}

std::string audits_text(const Plan& plan, const StatsReport& report) {
    std::string out;
    for (std::size_t i = 0; i < plan.audits.size(); ++i) {
        out += fmt::format("\naudit of filter {}\n{}", plan.filters[i].name,
                           engines::to_text(audit_of(plan, i, report)));
    }
    return out;
}

std::string paths_text(const Plan& plan, const StatsReport& report) {
    std::string out;
    std::string filter;
    for (const engines::PathReport& path : paths_of(plan, report)) {
        const std::string text = engines::to_text(path);
        const pipeline::PathSampleCounters& sample = path.facts.sample;
        const bool crowded = sample.crowded * 10 > sample.packets;
        if ((!text.empty() || crowded) && filter != path.facts.filter) {
            filter = path.facts.filter;
            out += fmt::format("\npaths of filter {}\n", filter);
            if (crowded) {
                out += fmt::format(
                    "  {} of {} sampled packets are not judged: equal ones without an "
                    "ID come too often to be told apart\n",
                    format_count(sample.crowded), format_count(sample.packets));
            }
        }
        out += text;
    }
    return out;
}

std::string epochs_text(const Plan& plan, const EpochReport& epochs) {
    if (epochs.count == 0) {
        return "";
    }
    return fmt::format(
        "\ntime steps back {} {} by {} at packet {}, from port {}: goes on from there, and ages "
        "leave the step out\n",
        format_count(epochs.count), epochs.count == 1 ? "time:" : "times, first",
        format_duration(epochs.first.step), epochs.first.packet,
        plan.ports[epochs.first.port].name);
}

// DPDK's net_pcap driver writes its own time into captures.
std::string stamps_text(const Plan& plan) {
    std::string files;
    for (const PortPlan& port : plan.ports) {
        if (port.transmits && port.device.has_files()) {
            for (const std::string& file : port.device.values_of("tx_pcap")) {
                files += (files.empty() ? "" : ", ") + escaped(file);
            }
        }
    }
    return files.empty() ? ""
                         : "\npackets in " + files +
                               " have the time of writing, not their own; unecho pcap keeps their "
                               "own\n";
}

ordered_json json_of(const Plan& plan, const EpochReport& epochs) {
    return {{"count", epochs.count},
            {"first_packet", epochs.first.packet},
            {"first_step_ns", epochs.first.step},
            {"first_port", plan.ports[epochs.first.port].name}};
}

const char* unit_name(CounterUnit unit) {
    switch (unit) {
        case CounterUnit::kCount:
            return "count";
        case CounterUnit::kPackets:
            return "packets";
        case CounterUnit::kBytes:
            return "bytes";
        case CounterUnit::kNanoseconds:
            return "nanoseconds";
    }
    return "";
}

// Sums grow, except in_flight.
template <typename Block>
bool only_grows(const CounterRow<Block>& row) {
    if constexpr (std::is_same_v<Block, DispositionCounts>) {
        return row.value != &DispositionCounts::in_flight;
    }
    return row.fold == CounterMerge::kSum;
}

// Add what describe() returns for each counter of to_json(), by member and name.
template <typename Describe>
void describe_counters(ordered_json& out, const Describe& describe) {
    const auto add = [&](const char* member, const auto& rows, const std::string& prefix = "") {
        for (const auto& row : rows) {
            out[member][prefix + json_name(row)] = describe(row);
        }
    };
    add("ports", pipeline::kPacketBytes, "rx_");
    add("ports", pipeline::kPacketBytes, "tx_");
    add("ports", eal::kDeviceCounters);
    add("routes", kDispositionCounters);
    add("taps", filter::kTapCounters);
    add("workers", dataplane::kWorkerCounters);
    add("filters", kFilterLoad);
    add("filters", filter::kWindowCounters);
    add("filters", filter::kFilterCounters);
    add("filters", filter::kRepeatCounters);
    add("filters", packet::kTunnelCounters);
    add("root", dataplane::kSharedFlowsCounters);
    add("root", shared_flows::kCounters);
    add("audit", filter::kAuditCounters);
    add("paths", pipeline::kPathCounters);
}

// Readers pair paths by name. Two filters may have points of the same names, because ports of one
// group may belong to several routes: then the filter's name comes first.
ordered_json paths_json(const Plan& plan, const StatsReport& report) {
    ordered_json out = ordered_json::array();
    std::map<std::string, unsigned> uses;
    for (const engines::PathReport& path : paths_of(plan, report)) {
        out.push_back(engines::to_json(path));
        ++uses[out.back()["name"].get<std::string>()];
    }
    for (ordered_json& path : out) {
        const auto name = path["name"].get<std::string>();
        if (uses[name] > 1) {
            path["name"] = fmt::format("{}: {}", path["filter"].get<std::string>(), name);
        }
    }
    return out;
}

}  // namespace

ordered_json kinds_json() {
    ordered_json out;
    for (const pipeline::ReasonInfo& reason : kReasonTable) {
        out["reasons"][std::string(reason.name)] = fate_name(reason.fate);
    }
    describe_counters(out, [](const auto& row) {
        return std::string(unit_name(row.unit)) + (only_grows(row) ? " counter" : " gauge");
    });
    return out;
}

ordered_json help_json() {
    ordered_json out;
    for (const pipeline::ReasonInfo& reason : kReasonTable) {
        out["reasons"][std::string(reason.name)] = reason.help;
    }
    for (const char* member : {"ports", "routes", "taps", "workers"}) {
        out[member] = ordered_json::object();  // before the stalls
    }
    out["stalls"] = {
        {"at_ns", "when the round began, since start"},
        {"took_ns", "how long it took"},
        {"stage", "in which most of the time passed"},
        {"packets", "that the round took"},
        {"queued_before", "packets in the worker's rx queues when it began, if their drivers tell"},
        {"queued_after", "packets in them when it was over, if their drivers tell"},
        {"lost", "packets that the devices of its ports lost meanwhile"}};
    describe_counters(out, [](const auto& row) { return row.help; });
    out["workers"]["poll_times"] =
        "rounds of its loop by how long they took: below this, and not below the one before";
    return out;
}

ordered_json to_json(const Plan& plan, const StatsReport& report) {
    ordered_json out;
    out["name"] = plan.name;
    out["start_unix_ns"] = report.start_unix;
    out["uptime_ns"] = report.uptime;
    out["totals"] = json_of(kDispositionCounters, report.totals);
    out["reasons"] = json_of(report.reasons);
    for (std::size_t i = 0; i < plan.ports.size(); ++i) {
        out["ports"].push_back(json_of(plan.ports[i].name, report.ports[i]));
    }
    for (std::size_t i = 0; i < plan.routes.size(); ++i) {
        out["routes"].push_back(json_of(plan, plan.routes[i], report.routes[i]));
        add_since(out["routes"].back(), plan.route_since, i);
    }
    if (report.gone.counts.received != 0) {
        out["gone"] = json_of(kDispositionCounters, report.gone.counts);
    }
    for (std::size_t i = 0; i < plan.workers.size(); ++i) {
        out["workers"].push_back(json_of(plan.workers[i].lcore, report.workers[i]));
        out["stalls"].push_back(stalls_json(report.workers[i]));
    }
    for (std::size_t i = 0; i < plan.filters.size(); ++i) {
        out["filters"].push_back(json_of(plan.filters[i], report.filters[i]));
        out["filters"].back()["audit"] = plan.audits.empty()
                                             ? ordered_json{{"enabled", false}}
                                             : engines::to_json(audit_of(plan, i, report));
        out["filters"].back()["answers"] =
            engines::to_json(port_pair_counts(plan, i, report.answers));
        if (!report.filters[i].paths.empty()) {
            out["filters"].back()["path_sample"] =
                json_of(pipeline::kPathSampleCounters, report.filters[i].path_sample);
        }
        if (i < plan.roots.size() && plan.roots[i] != nullptr) {
            out["filters"].back()["root"] = root_json(*plan.roots[i], report.filters[i].root);
        }
        add_since(out["filters"].back(), plan.filter_since, i);
        add_since(out["filters"].back()["audit"], plan.audit_since, i);
    }
    out["paths"] = paths_json(plan, report);
    out["events"] = events_json(report.events);
    if (report.epochs.count != 0) {
        out["epochs"] = json_of(plan, report.epochs);
    }
    return out;
}

std::string to_text(const Plan& plan, const StatsReport& report) {
    std::string out = ports_text(plan, report);
    for (std::size_t i = 0; i < plan.routes.size(); ++i) {
        out += route_text(plan, i, report.routes[i]);
    }
    return out + workers_text(plan, report) + stalls_text(report) + filters_text(plan, report) +
           tunnels_text(plan, report) + roots_text(plan, report) + audits_text(plan, report) +
           paths_text(plan, report) + epochs_text(plan, report.epochs) + stamps_text(plan);
}

}  // namespace unecho::appliance
