// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/server/metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <fmt/core.h>

#include "base/os/clock.h"
#include "monitor/server/prometheus_text.h"

namespace unecho::monitor {
namespace {

using Type = PrometheusText::Type;

// A value of a table that is not a counter.
struct Fact {
    const char* name;
    const char* metric;
    const char* help;
};
constexpr std::array kPortFacts{Fact{"link_up", "unecho_port_link_up", "1: the link is up"}};
constexpr std::array kWorkerFacts{
    Fact{"answering", "unecho_worker_answering",
         "1: the worker answered within a second when it was last asked"}};
constexpr std::array kFilterFacts{
    Fact{"window_ns", "unecho_filter_window_seconds", "the window, as configured"},
    Fact{"slack_ns", "unecho_filter_slack_seconds",
         "how long behind the window an answer may be either"},
    Fact{"predicted_false_drop", "unecho_filter_predicted_false_drop_ratio",
         "predicted share of new packets that are dropped by accident"}};
constexpr std::array kAuditFacts{
    Fact{"enabled", "unecho_filter_audit_enabled", "1: the audit measures"},
    Fact{"share", "unecho_filter_audit_sample_ratio", "share of the packets that are sampled"},
    Fact{"entries", "unecho_filter_audit_entries", "packets that the audit remembers now"},
    Fact{"capacity", "unecho_filter_audit_capacity_entries", "packets that it can remember"},
    Fact{"memory_bytes", "unecho_filter_audit_memory_bytes", "memory of the audit"},
    Fact{"window_999_ns", "unecho_filter_window_needed_seconds",
         "the window that 99.9 % of the sampled copies need"}};
constexpr std::array kPathFacts{
    Fact{"share", "unecho_path_sample_ratio", "share of the packets that are sampled"},
    Fact{"hops", "unecho_path_hops", "by how much the TTL decreased on the way, mean"},
    Fact{"max_path_loss", "unecho_path_loss_bound_ratio", "max_path_loss: more is a problem"},
    Fact{"max_path_delay_ns", "unecho_path_delay_bound_seconds",
         "max_path_delay: a packet that takes longer is late"}};
constexpr std::array kPathDelayFacts{
    Fact{"median_ns", "unecho_path_delay_median_seconds", "delay of half of the sampled packets"},
    Fact{"p99_ns", "unecho_path_delay_p99_seconds",
         "delay of 99 % of the sampled packets, at most"},
    Fact{"p999_ns", "unecho_path_delay_p999_seconds",
         "delay of 99.9 % of the sampled packets, at most"},
    Fact{"max_ns", "unecho_path_delay_max_seconds", "longest delay of a sampled packet"}};
// For false drops, misses and losses.
constexpr std::array kRateFacts{
    Fact{"rate", "_ratio", "measured share, of the sample"},
    Fact{"low", "_low_ratio", "lower end of its 95 % confidence interval (Clopper-Pearson)"},
    Fact{"high", "_high_ratio", "upper end of its 95 % confidence interval (Clopper-Pearson)"},
    Fact{"bound", "_bound_ratio", "what was promised"}};

std::string value_text(std::string_view name, const Json& value) {
    const auto exact = as_unsigned(value);
    if (exact) {
        return name.ends_with("_ns") ? seconds_text(*exact) : std::to_string(*exact);
    }
    return number_text(number(value).value_or(0));
}

// Such as "unecho_port_rx_missed_packets_total" for "rx_missed" in packets.
std::string metric_name(const std::string& prefix, std::string name, std::string_view unit,
                        Type type) {
    if (name.ends_with("_ns")) {
        name.resize(name.size() - 3);
        unit = "seconds";
    }
    if (unit != "" && name.find(unit) == std::string::npos) {
        name.append("_").append(unit);
    }
    return prefix + name + (type == Type::kCounter ? "_total" : "");
}

// A counter's kind, reported as "packets counter".
struct Kind {
    std::string unit;
    Type type = Type::kCounter;
};
Kind kind_of(const Json& kinds, const std::string& name) {
    const std::string said = string_or(kinds, name);
    if (said.empty()) {
        // An older version, which reports no kinds.
        return {"", name.ends_with("_ns") || name == "in_flight" ? Type::kGauge : Type::kCounter};
    }
    const std::size_t space = said.find(' ');
    const std::string unit = said.substr(0, space);
    return {unit == "count" ? "" : unit, said.ends_with(" gauge") ? Type::kGauge : Type::kCounter};
}

class ApplianceMetrics {
  public:
    ApplianceMetrics(const ApplianceStatus& appliance, PrometheusText& to)
        : of_(appliance), base_{{"appliance", appliance.name}}, to_(to) {}

    void state();
    void health();
    void totals();
    void ports();
    void routes();
    void workers();
    void filters();
    void paths();

  private:
    [[nodiscard]] Labels with(const char* name, std::string value) const {
        Labels out = base_;
        out.emplace_back(name, std::move(value));
        return out;
    }
    [[nodiscard]] const Json& list(const char* name) const { return member(of_.seen, name); }
    // Add those counters of the named block that the object has.
    void counters(const std::string& prefix, const char* block, const Json& object,
                  const Labels& labels);
    template <typename Facts>
    void facts(const Facts& facts, const Json& object, const Labels& labels,
               const std::string& prefix = "");
    void reasons(const Json& reasons, const std::string& route);
    void taps(const Json& taps, const std::string& route);
    void audit(const Json& audit, const std::string& filter);
    void audit_tables(const Json& audit, const std::string& filter);
    void crossings(const std::string& metric, const std::string& help, const Json& crossings,
                   const std::string& filter);
    void rate(const Json& rate, const std::string& prefix, const std::string& what,
              const Labels& labels);

    const ApplianceStatus& of_;
    Labels base_;
    PrometheusText& to_;
};

void ApplianceMetrics::counters(const std::string& prefix, const char* block, const Json& object,
                                const Labels& labels) {
    if (!of_.descriptions) {
        return;
    }
    const Json& kinds = member(of_.descriptions->kinds, block);
    for (const auto& item : member(of_.descriptions->help, block).items()) {
        const auto value = as_unsigned(member(object, item.key()));
        if (!value || !item.value().is_string()) {
            continue;
        }
        const Kind kind = kind_of(kinds, item.key());
        to_.add(metric_name(prefix, item.key(), kind.unit, kind.type), kind.type,
                item.value().get<std::string>(), labels, value_text(item.key(), *value));
    }
}

template <typename Facts>
void ApplianceMetrics::facts(const Facts& facts, const Json& object, const Labels& labels,
                             const std::string& prefix) {
    for (const Fact& fact : facts) {
        const Json& value = member(object, fact.name);
        if (number(value)) {
            to_.add(prefix + fact.metric, Type::kGauge, fact.help, labels,
                    value_text(fact.name, value));
        }
    }
}

void ApplianceMetrics::state() {
    const bool running = of_.state == ApplianceState::kRunning;
    to_.add("unecho_up", Type::kGauge,
            "1: the appliance answers; 0: it is silent, gone, or has not come up", base_,
            running ? "1" : "0");
    to_.add("unecho_expected", Type::kGauge, "1: the server was told to expect the appliance",
            base_, of_.expected ? "1" : "0");
    to_.add("unecho_starts_total", Type::kCounter,
            "processes of this name that the server has seen", base_, std::to_string(of_.starts));
    if (of_.answered != 0) {
        to_.add("unecho_answered_seconds", Type::kGauge,
                "when the appliance answered last, since 1970", base_, seconds_text(of_.answered));
    }
    if (running) {
        const Json& info = member(of_.seen, "info");
        to_.add("unecho_build_info", Type::kGauge, "1; the version is a label",
                with("version", string_or(info, "version")), "1");
        to_.add("unecho_uptime_seconds", Type::kGauge, "how long the appliance runs", base_,
                seconds_text(unsigned_or(info, "uptime_ns")));
        to_.add("unecho_look_seconds", Type::kGauge, "how long its last answers took", base_,
                seconds_text(of_.query_time));
    }
}

// The one thing that alerts ask for, so that they follow the same rules as the page.
void ApplianceMetrics::health() {
    for (const Finding& finding : of_.health.findings) {
        Labels labels = with("rule", std::string(finding.rule));
        labels.emplace_back("severity", name_of(finding.severity));
        labels.emplace_back("where", finding.where);
        to_.add("unecho_problem", Type::kGauge,
                "1: a health rule finds this wrong; 0: it does, and that was acknowledged", labels,
                finding.acknowledged ? "0" : "1");
    }
    to_.add("unecho_problems", Type::kGauge,
            "how many problems the health rules find, without acknowledged ones", base_,
            std::to_string(std::count_if(of_.health.findings.begin(), of_.health.findings.end(),
                                         [](const Finding& each) { return !each.acknowledged; })));
}

void ApplianceMetrics::totals() {
    counters("unecho_", "routes", member(of_.seen, "counters"), base_);
}

void ApplianceMetrics::ports() {
    for (const Json& port : list("ports")) {
        const Labels labels = with("port", string_or(port, "name"));
        facts(kPortFacts, port, labels);
        counters("unecho_port_", "ports", port, labels);
    }
}

void ApplianceMetrics::reasons(const Json& reasons, const std::string& route) {
    const Json& fates =
        of_.descriptions ? member(of_.descriptions->kinds, "reasons") : member(Json(), "");
    for (const auto& item : reasons.items()) {
        if (const auto packets = as_unsigned(item.value())) {
            Labels labels = with("route", route);
            labels.emplace_back("fate", string_or(fates, item.key(), "unknown"));
            labels.emplace_back("reason", item.key());
            to_.add("unecho_route_reason_packets_total", Type::kCounter,
                    "packets by what became of them and why", labels, std::to_string(*packets));
        }
    }
}

void ApplianceMetrics::taps(const Json& taps, const std::string& route) {
    if (taps.is_object()) {
        Labels labels = with("route", route);
        labels.emplace_back("a", string_or(taps, "a"));
        labels.emplace_back("b", string_or(taps, "b"));
        counters("unecho_route_flows_", "taps", member(taps, "total"), labels);
    }
}

void ApplianceMetrics::routes() {
    for (const Json& route : list("routes")) {
        const std::string name = string_or(route, "name");
        counters("unecho_route_", "routes", route, with("route", name));
        reasons(member(route, "reasons"), name);
        taps(member(route, "taps"), name);
    }
}

// Turns classes (upper end, count) into cumulative ones with fixed bounds.
class Cumulative {
  public:
    explicit Cumulative(std::vector<Nanoseconds> bounds)
        : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

    // A class belongs to a bound if it ends at most 1 % above it.
    void add(Nanoseconds to, std::uint64_t count) {
        const auto at = std::find_if(bounds_.begin(), bounds_.end(),
                                     [&](Nanoseconds bound) { return to <= bound + bound / 100; });
        counts_[static_cast<std::size_t>(at - bounds_.begin())] += count;
    }
    [[nodiscard]] PrometheusText::Buckets buckets() const {
        PrometheusText::Buckets out;
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            sum += counts_[i];
            out.emplace_back(i < bounds_.size() ? seconds_text(bounds_[i]) : "+Inf", sum);
        }
        return out;
    }

  private:
    std::vector<Nanoseconds> bounds_;
    std::vector<std::uint64_t> counts_;
};

// Return bounds 1, 2, 5, 10 and so on, from first to last.
std::vector<Nanoseconds> round_bounds(Nanoseconds first, Nanoseconds last) {
    std::vector<Nanoseconds> out;
    for (Nanoseconds decade = first; decade <= last; decade *= 10) {
        for (const Nanoseconds step : {1, 2, 5}) {
            if (step * decade <= last) {
                out.push_back(step * decade);
            }
        }
    }
    return out;
}

PrometheusText::Buckets time_buckets(const Json& classes, Nanoseconds longest) {
    Cumulative cumulative(round_bounds(kMicrosecond, longest));
    for (const Json& each : classes) {
        cumulative.add(unsigned_or(each, "to_ns", UINT64_MAX / 2), unsigned_or(each, "packets"));
    }
    return cumulative.buckets();
}

// Such as {"below_64_ns": 3, "below_128_ns": 5, ..., "longer": 1}: these are classes already.
PrometheusText::Buckets poll_buckets(const Json& times) {
    PrometheusText::Buckets out;
    std::uint64_t sum = 0;
    for (const auto& item : times.items()) {
        std::string_view name = item.key();
        constexpr std::string_view kBelow = "below_";
        constexpr std::string_view kUnit = "_ns";
        std::uint64_t bound = 0;
        if (name.starts_with(kBelow) && name.ends_with(kUnit)) {
            name = name.substr(kBelow.size(), name.size() - kBelow.size() - kUnit.size());
            std::from_chars(name.data(), name.data() + name.size(), bound);
        }
        sum += as_unsigned(item.value()).value_or(0);
        if (bound != 0) {
            out.emplace_back(seconds_text(bound), sum);
        }
    }
    out.emplace_back("+Inf", sum);
    return out;
}

void ApplianceMetrics::workers() {
    for (const Json& worker : list("workers")) {
        const Labels labels = with("worker", dump_json(member(worker, "lcore")));
        facts(kWorkerFacts, worker, labels);
        counters("unecho_worker_", "workers", worker, labels);
        counters("unecho_worker_", "ports", worker, labels);
        if (const Json& times = member(worker, "poll_times"); times.is_object()) {
            to_.add_histogram(
                "unecho_worker_poll_seconds", "rounds of the worker's loop by how long they took",
                labels, poll_buckets(times),
                seconds_text(unsigned_or(worker, "busy_ns") + unsigned_or(worker, "idle_ns")));
        }
    }
}

void ApplianceMetrics::rate(const Json& rate, const std::string& prefix, const std::string& what,
                            const Labels& labels) {
    for (const Fact& fact : kRateFacts) {
        if (number(member(rate, fact.name))) {
            to_.add(prefix + fact.metric, Type::kGauge, fmt::format("{}: {}", what, fact.help),
                    labels, value_text(fact.name, member(rate, fact.name)));
        }
    }
}

void ApplianceMetrics::audit_tables(const Json& audit, const std::string& filter) {
    const auto labelled = [&](const char* name, const std::string& value) {
        Labels labels = with("filter", filter);
        labels.emplace_back(name, value);
        return labels;
    };
    for (const auto& item : member(member(audit, "misses"), "explained").items()) {
        to_.add("unecho_filter_audit_misses_explained_total", Type::kCounter,
                "sampled misses with a known reason", labelled("reason", item.key()),
                value_text("", item.value()));
    }
    for (const auto& item : member(audit, "causes").items()) {
        to_.add("unecho_filter_audit_causes_total", Type::kCounter,
                "sampled echoes by why they are there", labelled("cause", item.key()),
                value_text("", item.value()));
    }
    crossings("unecho_filter_audit_crossings_total",
              "sampled echoes by the port of the packet and that of its copy",
              member(audit, "crossings"), filter);
}

void ApplianceMetrics::crossings(const std::string& metric, const std::string& help,
                                 const Json& crossings, const std::string& filter) {
    for (const Json& crossing : crossings) {
        Labels labels = with("filter", filter);
        labels.emplace_back("first", string_or(crossing, "first"));
        labels.emplace_back("repeated", string_or(crossing, "repeated"));
        to_.add(metric, Type::kCounter, help, labels, value_text("", member(crossing, "packets")));
    }
}

void ApplianceMetrics::audit(const Json& audit, const std::string& filter) {
    const Labels labels = with("filter", filter);
    facts(kAuditFacts, audit, labels);
    const Json& help =
        of_.descriptions ? member(of_.descriptions->help, "audit") : member(Json(), "");
    for (const auto& item : member(audit, "counters").items()) {
        if (as_unsigned(item.value())) {
            to_.add(fmt::format("unecho_filter_audit_{}_total", item.key()), Type::kCounter,
                    string_or(help, item.key(), "sampled packets: " + item.key()), labels,
                    value_text("", item.value()));
        }
    }
    rate(member(audit, "false_drops"), "unecho_filter_false_drop",
         "packets that are no echo and are dropped", labels);
    rate(member(audit, "misses"), "unecho_filter_miss",
         "echoes inside the window that are not found", labels);
    audit_tables(audit, filter);
    if (const Json& ages = member(audit, "ages"); ages.is_array()) {
        to_.add_histogram("unecho_filter_echo_age_seconds",
                          "how long after the packet its copy came, of the sample", labels,
                          time_buckets(ages, 10 * kSecond));
    }
}

void ApplianceMetrics::filters() {
    for (const Json& filter : list("filters")) {
        const std::string name = string_or(filter, "name");
        facts(kFilterFacts, filter, with("filter", name));
        counters("unecho_filter_", "filters", filter, with("filter", name));
        crossings("unecho_filter_answers_packets_total",
                  "copies of packets without an ID by the port of the packet and that of its copy",
                  member(filter, "answers"), name);
        if (const Json& root = member(filter, "root"); root.is_object()) {
            counters("unecho_filter_root_", "root", root, with("filter", name));
        }
        if (const Json& measured = member(filter, "audit"); measured.is_object()) {
            audit(measured, name);
        }
    }
}

void ApplianceMetrics::paths() {
    for (const Json& path : list("paths")) {
        if (unsigned_or(path, "came") == 0 && unsigned_or(path, "missing") == 0) {
            continue;
        }
        Labels labels = with("filter", string_or(path, "filter"));
        labels.emplace_back("from", string_or(path, "from"));
        labels.emplace_back("to", string_or(path, "to"));
        counters("unecho_path_", "paths", path, labels);
        facts(kPathFacts, path, labels);
        if (const Json& loss = member(path, "loss"); unsigned_or(loss, "of") != 0) {
            rate(loss, "unecho_path_loss", "packets that had to come and did not", labels);
        }
        facts(kPathDelayFacts, member(path, "delay"), labels);
        if (const Json& delays = member(path, "delays"); delays.is_array()) {
            to_.add_histogram("unecho_path_delay_seconds",
                              "how long sampled packets took from one point to the other", labels,
                              time_buckets(delays, 50 * kSecond));
        }
        for (const auto& item : member(path, "changes").items()) {
            Labels changed = labels;
            changed.emplace_back("change", item.key());
            to_.add("unecho_path_changes_packets_total", Type::kCounter,
                    "sampled packets by what changed on the way", changed,
                    value_text("", item.value()));
        }
    }
}

}  // namespace

std::string metrics_text(const ApplianceStatuses& appliances) {
    PrometheusText out;
    out.add("unecho_serve_build_info", Type::kGauge, "1; the server's version is a label",
            {{"version", UNECHO_VERSION}}, "1");
    for (const auto& appliance : appliances) {
        ApplianceMetrics writer(*appliance, out);
        writer.state();
        writer.health();
        // Old values of a silent appliance are no present measurement.
        if (appliance->state == ApplianceState::kRunning) {
            writer.totals();
            writer.ports();
            writer.routes();
            writer.workers();
            writer.filters();
            writer.paths();
        }
    }
    return out.text();
}

}  // namespace unecho::monitor
