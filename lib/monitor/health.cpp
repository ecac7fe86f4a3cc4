// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/health.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/words.h"

namespace unecho::monitor {
namespace {

std::uint64_t explained(const Json& misses) {
    std::uint64_t sum = 0;
    for (const auto& item : member(misses, "explained").items()) {
        sum += whole(item.value()).value_or(0);
    }
    return sum;
}

class Judge {
  public:
    explicit Judge(const TwoLooks& looks) : looks_(looks) {}

    void conservation();
    void workers();
    void ports();
    void losses();
    void doubts();
    void filters();
    std::vector<Finding> take() && { return std::move(findings_); }

  private:
    [[nodiscard]] const Json& now(std::string_view name) const {
        return member(looks_.after, name);
    }
    void add(Severity severity, std::string text) {
        findings_.push_back({severity, std::move(text)});
    }
    void false_drops(const std::string& filter, const Json& drops);
    void misses(const std::string& filter, const Json& before, const Json& after);
    void root(const std::string& filter, const Json& root);
    void loss(std::uint64_t before, std::uint64_t after, const std::string& where);

    const TwoLooks& looks_;
    std::vector<Finding> findings_;
};

void Judge::conservation() {
    const Json& counters = now("counters");
    std::uint64_t outcome = 0;
    for (const char* fate : {"forwarded", "diverted", "dropped", "in_flight"}) {
        outcome += whole_or(counters, fate);
    }
    if (const std::uint64_t received = whole_or(counters, "received"); received != outcome) {
        add(Severity::kBroken, "received " + counted(received, "packet") + " and accounts for " +
                                   counted(outcome, "packet"));
    }
}

void Judge::workers() {
    for (const Json& worker : now("workers")) {
        const std::string name = "worker on lcore " + dumped(member(worker, "lcore"));
        if (!truth_or(worker, "answering", true)) {
            add(Severity::kBroken, name + " does not answer");
        }
    }
}

void Judge::ports() {
    for (const Json& port : now("ports")) {
        if (!truth_or(port, "link_up", true)) {
            add(Severity::kWarning, "link of port " + text_or(port, "name") + " is down");
        }
    }
}

void Judge::loss(std::uint64_t before, std::uint64_t after, const std::string& where) {
    const std::uint64_t received = whole_or(now("counters"), "received");
    const double share = after == 0 ? 0
                                    : static_cast<double>(after) /
                                          static_cast<double>(std::max(received, std::uint64_t{1}));
    if (after > before && looks_.between != 0) {
        add(Severity::kWarning, where + ": " + counted(after - before, "packet") +
                                    " lost in the last " + brief(looks_.between));
    } else if (share > kMostLost) {
        add(Severity::kWarning, where + ": " + counted(after, "packet") +
                                    " lost since the start, " + percent(std::min(share, 1.0)) +
                                    " of what was received");
    }
}

void Judge::losses() {
    const Json& ports = now("ports");
    const Json& earlier = member(looks_.before, "ports");
    for (std::size_t i = 0; i < ports.size(); ++i) {
        for (const char* counter : {"rx_missed", "rx_no_mbuf"}) {
            const std::uint64_t after = whole_or(ports[i], counter);
            const bool known = earlier.is_array() && i < earlier.size();
            loss(known ? whole_or(earlier[i], counter) : after, after,
                 "port " + text_or(ports[i], "name") + ", " + counter);
        }
    }
    const std::uint64_t after = whole_or(now("reasons"), "tx_lost");
    loss(looks_.before.is_null() ? after : whole_or(member(looks_.before, "reasons"), "tx_lost"),
         after, "transmit queues, tx_lost");
}

void Judge::doubts() {
    const Json& reasons = now("reasons");
    std::uint64_t echoes = 0;
    for (const char* name : {"echo", "echo_passed", "echo_diverted"}) {
        echoes += whole_or(reasons, name);
    }
    const auto doubts = static_cast<double>(whole_or(reasons, "doubt"));
    if (doubts > kMostDoubts * static_cast<double>(echoes) && doubts > 0) {
        add(Severity::kWarning,
            counted(whole_or(reasons, "doubt"), "doubt") + " passed beside " +
                counted(echoes, "echo") +
                ": a filter is fuller than planned; give it a higher rate or more memory");
    }
}

void Judge::false_drops(const std::string& filter, const Json& drops) {
    if (text_or(drops, "verdict") == "broken") {
        add(Severity::kBroken, filter + ": false drops are above the bound: at least " +
                                   printed("%.2g", number(member(drops, "low")).value_or(0)) +
                                   ", bound " +
                                   printed("%.2g", number(member(drops, "bound")).value_or(0)));
    }
}

// Those that something explains are counted beside the others, and are losses as all others are:
// what is over is no reason to warn for ever, unless it was much.
void Judge::misses(const std::string& filter, const Json& before, const Json& after) {
    if (const std::uint64_t count = whole_or(after, "count"); count != 0) {
        add(Severity::kBroken, filter + ": " + counted(count, "sampled echo") +
                                   " inside the window not found, for no known reason");
    }
    const std::uint64_t now = explained(after);
    const double share = static_cast<double>(now) /
                         static_cast<double>(std::max(whole_or(after, "of"), std::uint64_t{1}));
    if ((before.is_object() && now > explained(before)) || (now != 0 && share > kMostLost)) {
        add(Severity::kWarning, filter + ": " + counted(now, "sampled echo") +
                                    " inside the window not found, each for a known reason");
    }
}

// What sites share, if they do.
void Judge::root(const std::string& filter, const Json& root) {
    const std::uint64_t masters = whole_or(root, "masters");
    if (const std::uint64_t answering = whole_or(root, "answering"); answering < masters) {
        add(Severity::kWarning, filter + ": of its root's masters " + std::to_string(answering) +
                                    " of " + std::to_string(masters) + " answer");
    }
    if (const std::uint64_t flows = whole_or(root, "no_room"); flows != 0) {
        add(Severity::kWarning, filter + ": its root had no room for " + counted(flows, "flow") +
                                    "; give it more flows, at all sites");
    }
}

void Judge::filters() {
    const Json& earlier = member(looks_.before, "filters");
    const Json& all = now("filters");
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::string name = "filter " + text_or(all[i], "name");
        const std::uint64_t window = whole_or(all[i], "window_ns");
        const std::uint64_t achieved = whole_or(all[i], "achieved_window_ns", window);
        if (achieved < window) {
            add(Severity::kWarning, name + " keeps " + brief(achieved) + " of its " +
                                        brief(window) + " window: more packets than planned");
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

std::vector<Finding> judge(const TwoLooks& looks) {
    Judge judge(looks);
    judge.conservation();
    judge.workers();
    judge.filters();
    judge.losses();
    judge.ports();
    judge.doubts();
    std::vector<Finding> out = std::move(judge).take();
    std::stable_sort(out.begin(), out.end(),
                     [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
    return out;
}

Severity worst_of(const std::vector<Finding>& findings) {
    return findings.empty() ? Severity::kFine : findings.front().severity;
}

}  // namespace unecho::monitor
