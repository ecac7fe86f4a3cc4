// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/status/health.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/humanize.h"

namespace unecho::monitor {
namespace {

std::uint64_t explained(const Json& misses) {
    std::uint64_t sum = 0;
    for (const auto& item : member(misses, "explained").items()) {
        sum += as_unsigned(item.value()).value_or(0);
    }
    return sum;
}

class HealthRules {
  public:
    explicit HealthRules(const SnapshotPair& snapshots) : snapshots_(snapshots) {}

    void conservation();
    void workers();
    void ports();
    void losses();
    void doubts();
    void filters();
    std::vector<Finding> take() && { return std::move(findings_); }

  private:
    [[nodiscard]] const Json& now(std::string_view name) const {
        return member(snapshots_.after, name);
    }
    void add(Severity severity, std::string text) {
        findings_.push_back({severity, std::move(text)});
    }
    [[nodiscard]] bool all_workers_answer() const {
        const Json& workers = now("workers");
        return std::all_of(workers.begin(), workers.end(),
                           [](const Json& worker) { return bool_or(worker, "answering", true); });
    }
    void false_drops(const std::string& filter, const Json& drops);
    void misses(const std::string& filter, const Json& before, const Json& after);
    void root(const std::string& filter, const Json& root);
    void loss(std::uint64_t before, std::uint64_t after, const std::string& where);

    const SnapshotPair& snapshots_;
    std::vector<Finding> findings_;
};

void HealthRules::conservation() {
    const Json& counters = now("counters");
    std::uint64_t outcome = 0;
    for (const char* fate : {"forwarded", "diverted", "dropped", "in_flight"}) {
        outcome += unsigned_or(counters, fate);
    }
    if (const std::uint64_t received = unsigned_or(counters, "received"); received != outcome) {
        add(Severity::kBroken, "received " + format_quantity(received, "packet") +
                                   " and accounts for " + format_quantity(outcome, "packet"));
    }
}

void HealthRules::workers() {
    for (const Json& worker : now("workers")) {
        const std::string name = "worker on lcore " + dump_json(member(worker, "lcore"));
        if (!bool_or(worker, "answering", true)) {
            add(Severity::kBroken, name + " does not answer");
        }
    }
}

void HealthRules::ports() {
    for (const Json& port : now("ports")) {
        if (!bool_or(port, "link_up", true)) {
            add(Severity::kWarning, "link of port " + string_or(port, "name") + " is down");
        }
    }
}

void HealthRules::loss(std::uint64_t before, std::uint64_t after, const std::string& where) {
    const std::uint64_t received = unsigned_or(now("counters"), "received");
    const double share = after == 0 ? 0
                                    : static_cast<double>(after) /
                                          static_cast<double>(std::max(received, std::uint64_t{1}));
    if (after > before && snapshots_.between != 0) {
        add(Severity::kWarning, where + ": " + format_quantity(after - before, "packet") +
                                    " lost in the last " + brief_duration(snapshots_.between));
    } else if (share > kMaxLossShare) {
        add(Severity::kWarning, where + ": " + format_quantity(after, "packet") +
                                    " lost since the start, " + percent(std::min(share, 1.0)) +
                                    " of what was received");
    }
}

void HealthRules::losses() {
    const Json& ports = now("ports");
    const Json& earlier = member(snapshots_.before, "ports");
    for (std::size_t i = 0; i < ports.size(); ++i) {
        for (const char* counter : {"rx_missed", "rx_no_mbuf"}) {
            const std::uint64_t after = unsigned_or(ports[i], counter);
            const bool known = earlier.is_array() && i < earlier.size();
            loss(known ? unsigned_or(earlier[i], counter) : after, after,
                 "port " + string_or(ports[i], "name") + ", " + counter);
        }
    }
    const std::uint64_t after = unsigned_or(now("reasons"), "tx_lost");
    loss(snapshots_.before.is_null() ? after
                                     : unsigned_or(member(snapshots_.before, "reasons"), "tx_lost"),
         after, "transmit queues, tx_lost");
}

void HealthRules::doubts() {
    const Json& reasons = now("reasons");
    std::uint64_t echoes = 0;
    for (const char* name : {"echo", "echo_passed", "echo_diverted"}) {
        echoes += unsigned_or(reasons, name);
    }
    const auto doubts = static_cast<double>(unsigned_or(reasons, "doubt"));
    if (doubts > kMaxDoubtShare * static_cast<double>(echoes) && doubts > 0) {
        add(Severity::kWarning,
            format_quantity(unsigned_or(reasons, "doubt"), "doubt") + " passed beside " +
                format_quantity(echoes, "echo") +
                ": a filter is fuller than planned; give it a higher rate or more memory");
    }
}

void HealthRules::false_drops(const std::string& filter, const Json& drops) {
    if (string_or(drops, "verdict") == "broken") {
        add(Severity::kBroken,
            filter + ": false drops are above the bound: at least " +
                format_number("%.2g", number(member(drops, "low")).value_or(0)) + ", bound " +
                format_number("%.2g", number(member(drops, "bound")).value_or(0)));
    }
}

// Explained misses are counted apart from the others, and reported like losses: past ones only if
// they were many.
void HealthRules::misses(const std::string& filter, const Json& before, const Json& after) {
    if (const std::uint64_t count = unsigned_or(after, "count"); count != 0) {
        add(Severity::kBroken, filter + ": " + format_quantity(count, "sampled echo") +
                                   " inside the window not found, for no known reason");
    }
    const std::uint64_t now = explained(after);
    const double share = static_cast<double>(now) /
                         static_cast<double>(std::max(unsigned_or(after, "of"), std::uint64_t{1}));
    if ((before.is_object() && now > explained(before)) || (now != 0 && share > kMaxLossShare)) {
        add(Severity::kWarning, filter + ": " + format_quantity(now, "sampled echo") +
                                    " inside the window not found, each for a known reason");
    }
}

void HealthRules::root(const std::string& filter, const Json& root) {
    const std::uint64_t masters = unsigned_or(root, "masters");
    if (const std::uint64_t answering = unsigned_or(root, "answering"); answering < masters) {
        add(Severity::kWarning, filter + ": of its root's masters " + std::to_string(answering) +
                                    " of " + std::to_string(masters) + " answer");
    }
    if (const std::uint64_t parts = unsigned_or(root, "unassigned"); parts != 0) {
        add(Severity::kWarning, filter + ": no master of its root has the slots of " +
                                    std::to_string(parts) + " of 48 parts of its flows");
    }
    if (const std::uint64_t flows = unsigned_or(root, "no_room"); flows != 0) {
        add(Severity::kWarning, filter + ": its root had no room for " +
                                    format_quantity(flows, "flow") +
                                    "; give it more flows, at all sites");
    }
}

void HealthRules::filters() {
    const Json& earlier = member(snapshots_.before, "filters");
    const Json& all = now("filters");
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::string name = "filter " + string_or(all[i], "name");
        const std::uint64_t window = unsigned_or(all[i], "window_ns");
        const std::uint64_t achieved = unsigned_or(all[i], "achieved_window_ns", window);
        // A window may also fall short because workers are starved or silent.
        const bool fuller =
            unsigned_or(all[i], "early_turns") != 0 || unsigned_or(all[i], "evicted_early") != 0;
        if (achieved < window && (fuller || all_workers_answer())) {
            add(Severity::kWarning, name + " keeps " + brief_duration(achieved) + " of its " +
                                        brief_duration(window) + " window" +
                                        (fuller ? ": more packets than planned"
                                                : ", though no more packets came than planned"));
        }
        if (const Json& shared = member(all[i], "root"); shared.is_object()) {
            root(name, shared);
        }
        const Json& audit = member(all[i], "audit");
        const bool known = earlier.is_array() && i < earlier.size();
        false_drops(name, member(audit, "false_drops"));
        misses(name, known ? member(member(earlier[i], "audit"), "misses") : earlier,
               member(audit, "misses"));
    }
}

}  // namespace

std::vector<Finding> check_health(const SnapshotPair& snapshots) {
    HealthRules rules(snapshots);
    rules.conservation();
    rules.workers();
    rules.filters();
    rules.losses();
    rules.ports();
    rules.doubts();
    std::vector<Finding> out = std::move(rules).take();
    std::stable_sort(out.begin(), out.end(),
                     [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
    return out;
}

Severity worst_of(const std::vector<Finding>& findings) {
    return findings.empty() ? Severity::kFine : findings.front().severity;
}

}  // namespace unecho::monitor
