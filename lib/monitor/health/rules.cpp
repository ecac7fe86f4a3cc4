// SPDX-License-Identifier: BSD-3-Clause
// The rules, in the order of kRules. What happens is judged between two sets of counters, so that a
// warning ends when its cause has ended. Items are paired by name, because a reload may move them.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/option_names.h"
#include "monitor/health/catalogue.h"
#include "monitor/health/health.h"

namespace unecho::monitor {
namespace {

// An input that is silent for so long is noticed within a minute, as counters are sampled every
// ten seconds.
constexpr Nanoseconds kSilent = 40 * kSecond;
// Silence of all inputs that is reported even if few packets came before.
constexpr Nanoseconds kNoTraffic = 60 * kSecond;
// Shares of a shorter time say little.
constexpr Nanoseconds kLeastSpan = 30 * kSecond;
constexpr double kMaxBusy = 0.95;
constexpr double kLeastTurns = 0.95;  // of the planned ones
constexpr double kMaxDoubts = 0.01;   // of the echoes
constexpr double kMaxEchoShare = 0.95;
constexpr double kLeastEchoShare = 0.001;  // of which a change is worth mentioning
constexpr double kMaxLate = 0.01;          // of the packets of a path
// Expected packets below which their absence may be chance.
constexpr double kFew = 20;
// Stalls a second that matter even if none of them lost a packet.
constexpr double kManyStalls = 1;
// A sample may notice late that something grew.
constexpr Nanoseconds kSampleStep = 10 * kSecond;
// An incident that comes again within this time is the same. CounterLog::kQuiet has this value.
constexpr Nanoseconds kSameIncident = 300 * kSecond;
constexpr Nanoseconds kAcknowledgedFor = 3600 * kSecond;  // where no beginning is known

std::string report_bug() {
    return "This is a bug: report it with the output of unecho status " + option::kJson + ".";
}

double ratio(std::uint64_t part, std::uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(whole, 1));
}

std::string text_of(const Json& value) {
    return value.is_string() ? value.get<std::string>() : dump_json(value);
}

std::uint64_t sum_of(const Json& object, std::initializer_list<const char*> names) {
    std::uint64_t sum = 0;
    for (const char* name : names) {
        sum += unsigned_or(object, name);
    }
    return sum;
}

std::uint64_t echoes_in(const Json& reasons) {
    return sum_of(reasons, {"echo", "echo_passed", "echo_diverted"});
}

std::uint64_t explained(const Json& filter) {
    std::uint64_t sum = 0;
    for (const auto& item :
         member(member(member(filter, "audit"), "misses"), "explained").items()) {
        sum += as_unsigned(item.value()).value_or(0);
    }
    return sum;
}

// Return the lower end of the 95 % interval of a share, of which `part` of `all` are known:
// Wilson's with continuity correction (Newcombe 1998). Without the correction, one packet of ten
// would prove a share of 1.8 %.
double least_share(std::uint64_t part, std::uint64_t all) {
    if (part == 0 || all == 0) {
        return 0;
    }
    constexpr double kZ = 1.959964;
    const auto n = static_cast<double>(all);
    const double share = ratio(part, all);
    // Under the root is more than 0, because the share is at least 1 / n.
    const double root = std::sqrt(kZ * kZ - 2 - 1 / n + 4 * share * (n * (1 - share) + 1));
    const double low = (2 * n * share + kZ * kZ - 1 - kZ * root) / (2 * (n + kZ * kZ));
    return std::max(low, 0.0);
}

// Return the item of this name; null if there is none.
const Json& named(const Json& past, const char* list, const std::string& name) {
    for (const Json& item : member(past, list)) {
        if (string_or(item, "name") == name) {
            return item;
        }
    }
    return member(Json(), "");
}

// Return by how much a counter grew. One that a reload made anew began at 0.
std::uint64_t growth(std::uint64_t now, std::uint64_t before) {
    return now >= before ? now - before : now;
}

std::string rate_of(double value) {
    return value == 0 ? "0" : format_number("%.2g", value);
}

// A port that some route receives from.
struct Input {
    std::string name;
    bool up;
    std::uint64_t packets;
    std::uint64_t grown;
    Nanoseconds quiet;
};

class HealthRules {
  public:
    explicit HealthRules(const Evidence& evidence)
        : evidence_(evidence), now_(evidence.now), before_(evidence.before) {
        const std::uint64_t uptime = unsigned_or(member(now_, "info"), "uptime_ns");
        const Json& totals = member(before_, "totals");
        known_ = totals.is_object();
        span_ = known_ ? growth(uptime, unsigned_or(totals, "uptime_ns")) : 0;
    }

    Health take() &&;

    void unaccounted();
    void workers();
    void inputs();
    [[nodiscard]] std::vector<Input> find_inputs() const;
    void silent_inputs(const std::vector<Input>& inputs);
    void ports();
    void routes();
    void filters();
    void paths();
    void clocks();

  private:
    // Return the growth of a counter since `before`, 0 if that is not known.
    [[nodiscard]] std::uint64_t grown(const Json& item, const Json& past, const char* name) const {
        return known_ ? growth(unsigned_or(item, name), unsigned_or(past, name)) : 0;
    }
    // Return when the present growth of a counter began: if it is younger than the newest sample,
    // that is now.
    [[nodiscard]] Nanoseconds growing_since(const Json& past, const std::string& counter) const {
        const Nanoseconds quiet = unsigned_or(past, counter + "_quiet_ns", ~Nanoseconds{0});
        return quiet <= std::max(span_, kSameIncident) ? unsigned_or(past, counter + "_from_ns")
                                                       : evidence_.unix_now;
    }
    [[nodiscard]] std::string in_span() const {
        const Nanoseconds unit = span_ >= kSecond ? kSecond : kMillisecond;
        return " in the last " + brief_duration(span_ / unit * unit);
    }
    [[nodiscard]] double seconds() const {
        return static_cast<double>(std::max<Nanoseconds>(span_, 1)) / 1e9;
    }
    [[nodiscard]] bool has(std::string_view rule) const {
        return std::any_of(findings_.begin(), findings_.end(),
                           [&](const Finding& each) { return each.rule == rule; });
    }
    [[nodiscard]] bool all_workers_answer() const {
        const Json& all = member(now_, "workers");
        return std::all_of(all.begin(), all.end(),
                           [](const Json& worker) { return bool_or(worker, "answering", true); });
    }
    // Packets come without timing in a replay with clock = "capture".
    [[nodiscard]] bool is_timed() const {
        const Json& all = member(now_, "workers");
        return std::any_of(all.begin(), all.end(), [](const Json& worker) {
            return sum_of(worker, {"busy_ns", "idle_ns"}) != 0;
        });
    }
    // Return when the newest event of this kind with both texts came; 0 if none is kept.
    [[nodiscard]] Nanoseconds event_time(std::string_view kind, const std::string& part,
                                         std::string_view end) const;
    void add(std::string_view rule, std::string where, std::string text, std::string remedy,
             Nanoseconds since = 0);

    void stalls(const Json& worker, const Json& past, const std::string& where);
    void busy(const Json& worker, const Json& past, const std::string& where);
    void losses(const Json& port);
    void echo_share(const Json& route, const std::string& where, const Json& past);
    void generations(const Json& filter, const std::string& where, const Json& past);
    void window(const Json& filter, const std::string& where, const Json& past);
    void audit(const Json& filter, const std::string& where, const Json& past);
    void root(const Json& filter, const std::string& where);
    [[nodiscard]] double lost_here(const Json& path) const;
    void path_loss(const Json& path, const Json& past);
    void path_delay(const Json& path, const Json& past);
    [[nodiscard]] bool is_flow_key(const std::string& filter) const;
    [[nodiscard]] std::string audit_text() const;

    const Evidence& evidence_;
    const Json& now_;
    const Json& before_;
    bool known_ = false;
    Nanoseconds span_ = 0;
    std::uint64_t lost_ = 0;
    std::vector<Finding> findings_;
};

Nanoseconds HealthRules::event_time(std::string_view kind, const std::string& part,
                                    std::string_view end) const {
    Nanoseconds out = 0;
    for (const Json& event : member(now_, "events")) {
        const std::string text = string_or(event, "text");
        if (string_or(event, "kind") == kind && text.find(part) != std::string::npos &&
            text.find(end) != std::string::npos) {
            out = unsigned_or(event, "unix_ns");
        }
    }
    return out;
}

// An incident that began before somebody acknowledged it is acknowledged, until it ends; one whose
// beginning is not known, for an hour.
void HealthRules::add(std::string_view rule, std::string where, std::string text,
                      std::string remedy, Nanoseconds since) {
    Finding finding{rule,
                    kRules.at(place_of(rule)).severity,
                    std::move(where),
                    std::move(text),
                    std::move(remedy),
                    since,
                    false};
    for (const Json& one : member(now_, "acknowledged")) {
        const Nanoseconds at = unsigned_or(one, "unix_ns");
        finding.acknowledged |=
            string_or(one, "rule") == finding.rule && string_or(one, "where") == finding.where &&
            (since != 0 ? since <= at + kSampleStep : evidence_.unix_now <= at + kAcknowledgedFor);
    }
    findings_.push_back(std::move(finding));
}

void HealthRules::unaccounted() {
    const Json& counters = member(now_, "counters");
    const std::uint64_t received = unsigned_or(counters, "received");
    const std::uint64_t outcome =
        sum_of(counters, {"forwarded", "diverted", "dropped", "in_flight"});
    if (received != outcome) {
        add("packets-unaccounted", "",
            fmt::format("unecho received {} and accounts for {}",
                        format_quantity(received, "packet"), format_quantity(outcome, "packet")),
            report_bug());
    }
}

// ---- workers ------------------------------------------------------------------------------------

void HealthRules::workers() {
    for (const Json& worker : member(now_, "workers")) {
        const std::string lcore = dump_json(member(worker, "lcore"));
        const std::string where = "lcore " + lcore;
        if (!bool_or(worker, "answering", true)) {
            add("worker-silent", where,
                fmt::format("The worker on {} does not answer within a second", where),
                "What comes to its queues waits, and is lost when they are full. The events say "
                "where it hangs; the watchdog restarts the process, or restart it yourself.",
                event_time("worker", fmt::format("on {} ", where), "does not poll"));
            continue;
        }
        const Json& past = named(before_, "workers", lcore);
        stalls(worker, past, where);
        busy(worker, past, where);
    }
}

void HealthRules::stalls(const Json& worker, const Json& past, const std::string& where) {
    const std::uint64_t count = grown(worker, past, "stalls");
    std::uint64_t lost = 0;
    Nanoseconds longest = 0;
    std::string stage;
    std::uint64_t listed = 0;  // the log keeps the newest
    std::uint64_t sending = 0;
    for (const Json& stall : member(worker, "stall_log")) {
        if (unsigned_or(stall, "unix_ns") + span_ < evidence_.unix_now) {
            continue;
        }
        ++listed;
        sending += string_or(stall, "stage") == "transmit" ? 1 : 0;
        lost += unsigned_or(stall, "lost");
        if (const Nanoseconds took = unsigned_or(stall, "took_ns"); took > longest) {
            longest = took;
            stage = string_or(stall, "stage");
        }
    }
    const bool beyond_window = grown(worker, past, "gaps") != 0;
    const bool many = static_cast<double>(count) >= kManyStalls * seconds() && span_ >= kLeastSpan;
    if (count == 0 || (lost == 0 && !beyond_window && !many)) {
        return;
    }
    add("worker-stalled", where,
        fmt::format(
            "The worker on {} was held up {}{}{}{}", where, format_quantity(count, "time"),
            in_span(),
            longest == 0 ? ""
                         : fmt::format(", for {} at the longest{}, in {}", brief_duration(longest),
                                       listed < count ? " that is still logged" : "", stage),
            lost == 0
                ? ""
                : fmt::format("; its ports lost {} meanwhile", format_quantity(lost, "packet"))),
        listed != 0 && sending == listed
            ? "All of these were in transmit, so a tx queue is full: see the port that the route "
              "leads to."
            : "Give the worker a CPU of its own: no other program, no interrupts, and [control] "
              "lcore elsewhere.",
        growing_since(past, beyond_window ? "gaps" : "stalls"));
}

void HealthRules::busy(const Json& worker, const Json& past, const std::string& where) {
    const std::uint64_t busy = grown(worker, past, "busy_ns");
    const std::uint64_t all = busy + grown(worker, past, "idle_ns");
    if (span_ < kLeastSpan || all == 0 || ratio(busy, all) < kMaxBusy) {
        return;
    }
    add("overload", where,
        fmt::format("The worker on {} was busy for {} of its time{}", where,
                    percent(ratio(busy, all)), in_span()),
        "Add lcores to workers before bursts are lost; a replay of captures is always busy.");
}

// ---- ports --------------------------------------------------------------------------------------

void HealthRules::ports() {
    for (const Json& port : member(now_, "ports")) {
        const std::string name = string_or(port, "name");
        if (!bool_or(port, "link_up", true)) {
            add("link-down", "port " + name, fmt::format("The link of port {} is down", name),
                "Check the cable, the transceiver and the device at the other end. unecho "
                "continues when the link is up.",
                event_time("link", "\"" + name + "\"", "link down"));
        }
    }
}

std::vector<Input> HealthRules::find_inputs() const {
    // For how long each has been an input: a reload may have made its route.
    std::map<std::string, Nanoseconds> known_for;
    for (const Json& route : member(now_, "routes")) {
        const Nanoseconds age =
            evidence_.unix_now - std::min(unsigned_or(route, "since_unix_ns"), evidence_.unix_now);
        for (const Json& from : member(route, "from")) {
            Nanoseconds& longest = known_for[text_of(from)];
            longest = std::max(longest, age);
        }
    }
    const Nanoseconds newest = unsigned_or(member(before_, "totals"), "newest_uptime_ns");
    std::vector<Input> inputs;
    for (const Json& port : member(now_, "ports")) {
        const std::string name = string_or(port, "name");
        if (const auto of = known_for.find(name); of != known_for.end()) {
            const Json& past = named(before_, "ports", name);
            inputs.push_back(
                {name, bool_or(port, "link_up", true), unsigned_or(port, "rx_packets"),
                 grown(port, past, "rx_packets"),
                 std::min(unsigned_or(past, "rx_packets_quiet_ns", newest), of->second)});
        }
    }
    return inputs;
}

void HealthRules::inputs() {
    const std::vector<Input> inputs = find_inputs();
    const bool any_up =
        std::any_of(inputs.begin(), inputs.end(), [](const Input& each) { return each.up; });
    Nanoseconds least = ~Nanoseconds{0};
    std::uint64_t came = 0;  // in the hour
    for (const Input& each : inputs) {
        least = std::min(least, each.quiet);
        came += growth(each.packets,
                       unsigned_or(named(evidence_.hour, "ports", each.name), "rx_packets"));
    }
    if (!known_ || inputs.empty() || !any_up) {
        return;
    }
    const std::uint64_t uptime = unsigned_or(member(now_, "info"), "uptime_ns");
    const Nanoseconds hour =
        growth(uptime, unsigned_or(member(evidence_.hour, "totals"), "uptime_ns"));
    // How many had come meanwhile at the rate of the hour.
    const double due = static_cast<double>(came) * static_cast<double>(least) /
                       static_cast<double>(std::max<Nanoseconds>(hour, 1));
    if (least >= kNoTraffic || (least >= kSilent && due >= kFew)) {
        add("no-traffic", "",
            "No packet has come from any input for " + brief_duration(least / kSecond * kSecond),
            "Check that the taps or mirror sessions send, and that the ports are theirs.",
            evidence_.unix_now - least);
    } else if (least < kSilent) {
        silent_inputs(inputs);
    }
}

void HealthRules::silent_inputs(const std::vector<Input>& inputs) {
    for (const Input& each : inputs) {
        std::uint64_t packets = 0;
        std::uint64_t others = 0;  // packets of the others in the time
        for (const Input& other : inputs) {
            packets += other.packets;
            others += &other != &each ? other.grown : 0;
        }
        // How many had come from it meanwhile, had it kept its share. One that never received
        // anything has the share of a quiet direction.
        const double share = each.packets == 0 ? 0.01 : ratio(each.packets, packets);
        const double expected = share * static_cast<double>(others) *
                                static_cast<double>(std::min(each.quiet, span_)) /
                                static_cast<double>(std::max<Nanoseconds>(span_, 1));
        if (each.up && each.quiet >= kSilent && expected >= kFew) {
            add("input-silent", "port " + each.name,
                fmt::format("Nothing has come from port {} for {}, while packets come from the "
                            "other inputs",
                            each.name, brief_duration(each.quiet / kSecond * kSecond)),
                "Its link is up, so the tap or mirror session behind it is dark: check its cables, "
                "its power and its configuration.",
                evidence_.unix_now - each.quiet);
        }
    }
}

void HealthRules::losses(const Json& port) {
    const std::string name = string_or(port, "name");
    const Json& past = named(before_, "ports", name);
    const std::uint64_t missed = grown(port, past, "rx_missed");
    const std::uint64_t no_mbuf = grown(port, past, "rx_no_mbuf");
    lost_ += missed + no_mbuf;
    if (missed + no_mbuf == 0) {
        return;
    }
    const bool buffers = no_mbuf > missed;
    add("rx-missed", "port " + name,
        fmt::format("Port {} lost {}{}{}", name, format_quantity(missed + no_mbuf, "packet"),
                    in_span(),
                    buffers ? ", because no packet buffer was free"
                            : ", because its receive queue was full"),
        has("worker-stalled") ? "A worker was held up meanwhile: remedy that first."
        : has("overload")     ? "A worker is at its limit: add lcores to workers."
        : buffers             ? "Raise mbufs."
                              : "Raise rx_descriptors for bursts, or add lcores to workers.",
        growing_since(past, buffers ? "rx_no_mbuf" : "rx_missed"));
}

// ---- routes -------------------------------------------------------------------------------------

bool HealthRules::is_flow_key(const std::string& filter) const {
    return string_or(named(now_, "filters", filter), "key").starts_with("flow");
}

void HealthRules::routes() {
    for (const Json& port : member(now_, "ports")) {
        losses(port);
    }
    for (const Json& route : member(now_, "routes")) {
        const std::string name = string_or(route, "name");
        const std::string where = "route " + name;
        const Json& past = named(before_, "routes", name);
        const Json& reasons = member(route, "reasons");
        if (const std::uint64_t lost = grown(reasons, past, "tx_lost"); lost != 0) {
            lost_ += lost;
            const std::string to = string_or(route, "to");
            add("tx-lost", where,
                fmt::format("Port {} did not take {} of {}{}", to, format_quantity(lost, "packet"),
                            where, in_span()),
                fmt::format("Check the link of port {} and the tool behind it; raise "
                            "tx_descriptors or [run] tx_retry for bursts.",
                            to),
                growing_since(past, "tx_lost"));
        }
        const std::uint64_t echoes = growth(echoes_in(reasons), echoes_in(past));
        if (const std::uint64_t doubts = grown(reasons, past, "doubt");
            static_cast<double>(doubts) >= 2 * kFew &&
            static_cast<double>(doubts) > kMaxDoubts * static_cast<double>(echoes)) {
            add("doubts", where,
                fmt::format("{} of {} passed as doubts{}, beside {}",
                            format_quantity(doubts, "possible copy"), where, in_span(),
                            format_quantity(echoes, "echo")),
                "Its filter is fuller than planned: raise its rate or memory.",
                growing_since(past, "doubt"));
        }
        echo_share(route, where, past);
    }
}

void HealthRules::echo_share(const Json& route, const std::string& where, const Json& past) {
    const Json& reasons = member(route, "reasons");
    const std::uint64_t received = grown(route, past, "received");
    const std::uint64_t echoes = growth(echoes_in(reasons), echoes_in(past));
    const double share = ratio(echoes, received);
    const bool flow = is_flow_key(string_or(route, "filter"));
    if (!known_ || span_ < kLeastSpan || flow || static_cast<double>(received) < 50 * kFew) {
        return;
    }
    if (share >= kMaxEchoShare) {
        add("drop-share-implausible", where,
            fmt::format("{} of the packets of {} were copies{}, more than taps and mirrors make",
                        percent(share), where, in_span()),
            "Look for a loop: a mirror session that mirrors its own output, a broker that sends "
            "back, a bridge without spanning tree.");
        return;
    }
    // Compare with what is usual in the hour before.
    const double usual = ratio(unsigned_or(past, "usual_echo_ppm"), 1'000'000);
    const double expected = usual * static_cast<double>(received);
    if (usual < kLeastEchoShare || expected < kFew) {
        return;
    }
    const std::string before = percent(usual) + " were usual in the hour before";
    if (static_cast<double>(echoes) < expected / 100) {
        add("echoes-stopped", where,
            fmt::format("Hardly a packet of {} was a copy{}; {}", where, in_span(), before),
            "A tap or mirror session is dark, or the inputs no longer see the same packets: "
            "compare "
            "the ports' rates.");
    } else if (std::abs(share - usual) > usual / 2 && expected > 10 * kFew) {
        add("echo-share-changed", where,
            fmt::format("{} of the packets of {} were copies{}; {}", percent(share), where,
                        in_span(), before),
            "A tap or mirror session came, went or was changed, or the traffic did: run unecho "
            "analyze on a capture.");
    }
}

// ---- filters ------------------------------------------------------------------------------------

void HealthRules::filters() {
    for (const Json& filter : member(now_, "filters")) {
        const std::string name = string_or(filter, "name");
        const std::string where = "filter " + name;
        const Json& past = named(before_, "filters", name);
        generations(filter, where, past);
        window(filter, where, past);
        audit(filter, where, past);
        root(filter, where);
    }
}

void HealthRules::generations(const Json& filter, const std::string& where, const Json& past) {
    const Nanoseconds length = unsigned_or(filter, "generation_ns") *
                               std::max<std::uint64_t>(unsigned_or(filter, "phases", 1), 1);
    const Nanoseconds reloaded = unsigned_or(filter, "since_unix_ns");
    if (!known_ || span_ < kLeastSpan || length == 0 || !is_timed() || !all_workers_answer() ||
        reloaded + span_ > evidence_.unix_now) {
        return;
    }
    const double planned =
        static_cast<double>(member(now_, "workers").size()) * 1e9 / static_cast<double>(length);
    const double turned = static_cast<double>(grown(filter, past, "shifts")) / seconds();
    if (planned * seconds() < 5 * kFew || turned >= kLeastTurns * planned) {
        return;
    }
    const std::uint64_t longest = unsigned_or(filter, "longest_generation_ns");
    add("generations-late", where,
        fmt::format("Generations of {} turned {:.0f} times a second instead of {:.0f}{}{}, so "
                    "copies older than window and slack may be dropped",
                    where, turned, planned, in_span(),
                    longest == 0 ? ""
                                 : fmt::format(" (the longest since the start took {})",
                                               brief_duration(longest))),
        "The machine is overloaded. Give [control] lcore a CPU of its own and the process "
        "CAP_SYS_NICE; give each worker a CPU of its own.");
}

void HealthRules::window(const Json& filter, const std::string& where, const Json& past) {
    const std::uint64_t window = unsigned_or(filter, "window_ns");
    const std::uint64_t achieved = unsigned_or(filter, "achieved_window_ns", window);
    const bool early = grown(filter, past, "early_turns") != 0;
    const bool evicted = grown(filter, past, "evicted_early") != 0;
    // A window may also fall short because workers are silent.
    if (achieved >= window || (!early && !evicted && !all_workers_answer())) {
        return;
    }
    add("window-short", where,
        fmt::format("Filter {} keeps {} of its {} window{}", string_or(filter, "name"),
                    brief_duration(achieved), brief_duration(window),
                    early || evicted ? ", because more packets come than planned"
                                     : ", though no more packets came than planned"),
        early || evicted ? "Raise its rate, or shorten window if the copies come sooner."
                         : "See whether a worker was held up; else report a bug.",
        early || evicted ? growing_since(past, evicted ? "evicted_early" : "early_turns") : 0);
}

void HealthRules::audit(const Json& filter, const std::string& where, const Json& past) {
    const Json& audit = member(filter, "audit");
    const Json& drops = member(audit, "false_drops");
    if (string_or(drops, "verdict") == "broken") {
        add("false-drops-above-bound", where,
            fmt::format("Filter {} drops more new packets than it may: at least {} of them, and "
                        "the bound is {}",
                        string_or(filter, "name"),
                        rate_of(number(member(drops, "low")).value_or(0)),
                        rate_of(number(member(drops, "bound")).value_or(0))),
            string_or(filter, "on_full") == "grow"
                ? "The filter grows with the packets: raise rate, or use line. Else report a bug."
                : "This is a bug: report it. Until then set on_echo = \"pass\" and reload.");
    }
    const Json& misses = member(audit, "misses");
    if (const std::uint64_t count = unsigned_or(misses, "count"); count != 0) {
        add("miss", where,
            fmt::format("{} inside the window of {} passed, and nothing explains it",
                        format_quantity(count, "sampled copy"), where),
            report_bug());
    }
    const std::uint64_t count =
        known_ ? growth(explained(filter), unsigned_or(past, "misses_explained")) : 0;
    if (count == 0) {
        return;
    }
    std::string why;
    std::uint64_t most = 0;
    for (const auto& item : member(misses, "explained").items()) {
        if (const std::uint64_t n = as_unsigned(item.value()).value_or(0); n > most) {
            most = n;
            why = item.key();
        }
    }
    add("miss-explained", where,
        fmt::format("{} inside the window of {} passed{}", format_quantity(count, "sampled copy"),
                    where, in_span()),
        why == "stall"
            ? "A worker was away: give it a CPU of its own. A larger filter does not help."
            : "The filter had too little room: raise its rate or memory, or shorten its "
              "window.",
        growing_since(past, "misses_explained"));
}

void HealthRules::root(const Json& filter, const std::string& where) {
    const Json& root = member(filter, "root");
    const std::uint64_t masters = unsigned_or(root, "masters");
    if (const std::uint64_t answering = unsigned_or(root, "answering"); answering < masters) {
        add("root-unreachable", where,
            fmt::format("{} of {} of the Redis Cluster answer, in which sites share flows of {}",
                        answering, format_quantity(masters, "master"), where),
            "Check these nodes and the network to them; the events name them. Until then copies "
            "that another site saw pass.",
            event_time("root", "", ""));
    }
    if (const std::uint64_t parts = unsigned_or(root, "unassigned"); parts != 0) {
        add("root-unassigned", where,
            fmt::format("No master of the Redis Cluster has the slots of {} of the 48 parts of the "
                        "flows of {}",
                        parts, where),
            "Assign all slots to masters, or repair the master that had them. Until then copies of "
            "these flows that another site saw pass.");
    }
    if (const std::uint64_t flows = unsigned_or(root, "no_room"); flows != 0) {
        add("root-full", where,
            fmt::format("The shared store of {} had no room for {}", where,
                        format_quantity(flows, "flow")),
            "Raise flows of [filter.root], at all sites.");
    }
}

// ---- paths --------------------------------------------------------------------------------------

void HealthRules::paths() {
    if (!known_ || span_ < kLeastSpan) {
        return;
    }
    for (const Json& path : member(now_, "paths")) {
        const Json& past = named(before_, "paths", string_or(path, "name"));
        path_loss(path, past);
        path_delay(path, past);
    }
}

// Return the share of packets that the device at the second point lost itself, which are no loss of
// the path. The appliance reports it since the start; for a point that is one port, the judged span
// is known too.
double HealthRules::lost_here(const Json& path) const {
    const std::string point = string_or(path, "to");
    const Json& port = named(now_, "ports", point);
    const Json& past = named(before_, "ports", point);
    if (!port.is_object()) {
        return number(member(member(path, "loss"), "lost_here")).value_or(0);
    }
    const std::uint64_t lost = grown(port, past, "rx_missed") + grown(port, past, "rx_no_mbuf");
    return ratio(lost, lost + grown(port, past, "rx_packets"));
}

void HealthRules::path_loss(const Json& path, const Json& past) {
    const auto bound = number(member(path, "max_path_loss"));
    const std::uint64_t missing = grown(path, past, "missing");
    const std::uint64_t judged = missing + grown(path, past, "arrived");
    const double least = least_share(missing, judged) - lost_here(path);
    if (!bound || least <= *bound) {
        return;
    }
    add("path-loss", "path " + string_or(path, "name"),
        fmt::format("{} of {} from {} to {} are missing{}: with 95 % confidence at least {} of "
                    "them, and max_path_loss is {}",
                    format_count(missing),
                    format_quantity(
                        judged, string_or(path, "packets") == "all" ? "packet" : "sampled packet"),
                    string_or(path, "from"), string_or(path, "to"), in_span(), percent(least),
                    percent(*bound)),
        "A dark tap looks like loss: see input-silent first. Else look at the counters of the "
        "devices between these points, or capture at both: unecho compare names the flows.",
        growing_since(past, "missing"));
}

void HealthRules::path_delay(const Json& path, const Json& past) {
    const auto bound = as_unsigned(member(path, "max_path_delay_ns"));
    const std::uint64_t late = grown(path, past, "late");
    const std::uint64_t timed = grown(path, past, "timed");
    if (!bound || least_share(late, timed) <= kMaxLate) {
        return;
    }
    add("path-delay", "path " + string_or(path, "name"),
        fmt::format("{} of {} from {} to {} took longer than {}{}", format_count(late),
                    format_quantity(timed, "sampled packet"), string_or(path, "from"),
                    string_or(path, "to"), brief_duration(*bound), in_span()),
        "Look at the queues of the devices between these points, and at their other traffic. "
        "unecho compare on captures of both names the flows.",
        growing_since(past, "late"));
}

void HealthRules::clocks() {
    std::uint64_t count = 0;
    const Json* last = nullptr;
    for (const Json& event : member(now_, "events")) {
        if (string_or(event, "kind") == "time" &&
            unsigned_or(event, "unix_ns") + std::max(span_, kSampleStep) >= evidence_.unix_now) {
            ++count;
            last = &event;
        }
    }
    if (last != nullptr) {
        add("clock-stepped", "",
            fmt::format("A clock stepped{}{}: {}",
                        count == 1 ? "" : " " + format_quantity(count, "time"), in_span(),
                        string_or(*last, "text")),
            "unecho measures time without the system's clock, so no window is affected; times in "
            "the log and of captures jump. Check NTP or PTP of this host or of the source.",
            unsigned_or(*last, "unix_ns"));
    }
}

// ---- all ----------------------------------------------------------------------------------------

// Say what the audits measured: numbers of the filter that is the least certain.
std::string HealthRules::audit_text() const {
    const Json* worst = nullptr;
    std::uint64_t count = 0;
    std::uint64_t of = 0;
    for (const Json& filter : member(now_, "filters")) {
        const Json& audit = member(filter, "audit");
        if (!audit.is_object() || !bool_or(audit, "enabled", true)) {
            continue;
        }
        const Json& drops = member(audit, "false_drops");
        count += unsigned_or(drops, "count");
        of += unsigned_or(drops, "of");
        if (worst == nullptr || number(member(drops, "high")).value_or(0) >
                                    number(member(*worst, "high")).value_or(0)) {
            worst = &drops;
        }
    }
    if (worst == nullptr) {
        return "The audit is off, so nobody measures false drops.";
    }
    if (of == 0) {
        return "The audit has had no new packet to check yet.";
    }
    const auto bound = number(member(*worst, "bound"));
    std::string out = fmt::format(
        "The audit checked {}, and {} dropped: with 95 % confidence at most {} of them{}.",
        format_quantity(of, "new packet"),
        count == 0 ? "none was" : format_count(count) + (count == 1 ? " was" : " were"),
        rate_of(number(member(*worst, "high")).value_or(1)),
        bound ? "; the bound is " + rate_of(*bound) : "");
    if (const std::uint64_t left = unsigned_or(*worst, "confirmed_in_ns");
        left != 0 && string_or(*worst, "verdict") == "open") {
        out += " It is confirmed in about " + brief_duration(left) +
               " at this rate; nothing is wrong until then.";
    }
    return out;
}

Health HealthRules::take() && {
    std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
        return std::pair(a.acknowledged, place_of(a.rule)) <
               std::pair(b.acknowledged, place_of(b.rule));
    });
    Health out;
    out.findings = std::move(findings_);
    out.span = span_;
    out.lost = lost_;
    if (!out.findings.empty() && !out.findings.front().acknowledged) {
        const Finding& worst = out.findings.front();
        out.severity = worst.severity;
        out.headline = kRules.at(place_of(worst.rule)).headline;
        out.text = fmt::format("{}. {}", worst.text, worst.remedy);
        return out;
    }
    out.headline = out.findings.empty() ? "All is well." : "Nothing new.";
    out.text = (out.findings.empty() ? "" : "What is wrong was acknowledged. ") +
               (known_ && lost_ == 0 ? "No packet was lost" + in_span() + ". " : std::string()) +
               audit_text();
    return out;
}

}  // namespace

Health check_health(const Evidence& evidence) {
    HealthRules rules(evidence);
    rules.unaccounted();
    rules.workers();
    rules.ports();
    rules.inputs();
    rules.routes();
    rules.filters();
    rules.paths();
    rules.clocks();
    return std::move(rules).take();
}

}  // namespace unecho::monitor
