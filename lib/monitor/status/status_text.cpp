// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/status/status_text.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/table.h"
#include "base/utf8.h"
#include "monitor/health/catalogue.h"

namespace unecho::monitor {
namespace {

constexpr std::string_view kRed = "\x1b[1;31m";
constexpr std::string_view kYellow = "\x1b[1;33m";
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kPlain = "\x1b[0m";

std::string coloured(std::string_view text, std::string_view colour, const TextStyle& style) {
    return style.colours ? std::string(colour).append(text).append(kPlain) : std::string(text);
}

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

// Cut a line, which has no line end, to `width` characters.
std::string cut(std::string_view line, std::size_t width) {
    if (characters(line) <= width || width < 4) {
        return std::string(line);
    }
    std::string out;
    for (std::size_t n = 0; n + 3 < width; ++n) {
        const std::size_t size = std::max<std::size_t>(utf8_length(line), 1);
        out += line.substr(0, size);
        line.remove_prefix(size);
    }
    return out + "...";
}

// Break a sentence between words, and within names that are longer than a line. Lines after the
// first are indented.
std::string wrapped(std::string_view text, std::size_t width, std::string_view indent) {
    std::string out;
    std::string line;
    bool begins = true;
    const auto end_line = [&] {
        out += line + "\n";
        line = indent;
        begins = true;
    };
    while (!text.empty()) {
        std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        if (!begins && characters(line) + 1 + characters(word) > width) {
            end_line();
        } else if (!begins) {
            line += " ";
        }
        for (; characters(line) + characters(word) > width && width > indent.size(); end_line()) {
            while (characters(line) < width) {
                const std::size_t size = std::max<std::size_t>(utf8_length(word), 1);
                line += word.substr(0, size);
                word.remove_prefix(size);
            }
        }
        line += word;
        begins = false;
    }
    return out + line;
}

std::string cut_lines(std::string_view text, std::size_t width) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        out += cut(text.substr(0, end), width) + "\n";
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

std::string short_count(double value) {
    static constexpr std::array kUnits{"", "k", "M", "G", "T"};
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < kUnits.size()) {
        value /= 1000;
        ++unit;
    }
    const char* format = unit == 0 || value >= 99.95 ? "%.0f" : value >= 9.995 ? "%.1f" : "%.2f";
    return format_number(format, value) + kUnits.at(unit);
}

// One table in two snapshots.
class Pair {
  public:
    Pair(const Json& before, const Json& after, Nanoseconds between)
        : before_(before), after_(after), between_(between) {}

    [[nodiscard]] std::uint64_t total(std::string_view name) const {
        return unsigned_or(after_, name);
    }
    [[nodiscard]] std::uint64_t grown(std::string_view name) const {
        const std::uint64_t was = unsigned_or(before_, name);
        return total(name) >= was ? total(name) - was : 0;
    }
    // Return a rate per second such as "1.25k"; "-" after one snapshot only.
    [[nodiscard]] std::string rate(std::string_view name) const {
        return known() ? short_count(per_second(name)) : "-";
    }
    [[nodiscard]] double per_second(std::string_view name) const {
        return static_cast<double>(grown(name)) * 1e9 / static_cast<double>(between_);
    }
    [[nodiscard]] bool known() const { return before_.is_object() && between_ != 0; }
    [[nodiscard]] std::string text(std::string_view name) const { return string_or(after_, name); }
    [[nodiscard]] const Json& after() const { return after_; }
    [[nodiscard]] Pair inner(std::string_view name) const {
        return {member(before_, name), member(after_, name), between_};
    }

  private:
    const Json& before_;
    const Json& after_;
    Nanoseconds between_;
};

std::vector<Pair> pairs_of(const SnapshotPair& snapshots, const char* list) {
    static const Json nothing;
    std::vector<Pair> out;
    const Json& before = member(snapshots.before, list);
    const Json& after = member(snapshots.after, list);
    for (std::size_t i = 0; i < after.size(); ++i) {
        out.emplace_back(before.is_array() && i < before.size() ? before[i] : nothing, after[i],
                         snapshots.between);
    }
    return out;
}

std::string share_text(std::uint64_t part, std::uint64_t all) {
    return all == 0 ? "-" : percent(static_cast<double>(part) / static_cast<double>(all));
}

constexpr std::array<std::string_view, 3> kEchoFates{"echo", "echo_passed", "echo_diverted"};

std::string fates(const SnapshotPair& snapshots) {
    const Pair counters(member(snapshots.before, "counters"), member(snapshots.after, "counters"),
                        snapshots.between);
    const Pair reasons(member(snapshots.before, "reasons"), member(snapshots.after, "reasons"),
                       snapshots.between);
    TextTable table({"packets", ">now/s", ">share", ">since the start", ">share"});
    const auto row = [&](const Pair& pair, std::string_view name) {
        table.row({spaced(printable(name)), pair.rate(name),
                   pair.known() ? share_text(pair.grown(name), counters.grown("received")) : "-",
                   format_count(pair.total(name)),
                   share_text(pair.total(name), counters.total("received"))});
    };
    for (const char* fate : {"received", "forwarded", "diverted", "dropped"}) {
        if (counters.total(fate) != 0 || fate != std::string_view("diverted")) {
            row(counters, fate);
        }
    }
    for (const auto& item : member(snapshots.after, "reasons").items()) {
        const bool echo =
            std::find(kEchoFates.begin(), kEchoFates.end(), item.key()) != kEchoFates.end();
        if (item.key() != "new" &&
            (reasons.total(item.key()) != 0 || (echo && item.key() == "echo"))) {
            row(reasons, item.key());
        }
    }
    return table.text();
}

std::string ports(const SnapshotPair& snapshots) {
    TextTable table({"port", ">rx/s", ">tx/s", ">rx packets", ">tx packets", ">lost", "link"});
    for (const Pair& port : pairs_of(snapshots, "ports")) {
        table.row({printable(port.text("name")), port.rate("rx_packets"), port.rate("tx_packets"),
                   format_count(port.total("rx_packets")), format_count(port.total("tx_packets")),
                   format_count(port.total("rx_missed") + port.total("rx_no_mbuf")),
                   bool_or(port.after(), "link_up", false) ? "up" : "down"});
    }
    return table.text();
}

std::uint64_t echoes_of(const Pair& route, bool now) {
    const Pair reasons = route.inner("reasons");
    std::uint64_t sum = 0;
    for (const std::string_view name : kEchoFates) {
        sum += now ? reasons.grown(name) : reasons.total(name);
    }
    return sum;
}

std::string routes(const SnapshotPair& snapshots) {
    TextTable table({"route", ">received/s", ">echoes now", ">received", ">echoes", "filter"});
    for (const Pair& route : pairs_of(snapshots, "routes")) {
        table.row(
            {printable(route.text("name")), route.rate("received"),
             route.known() ? share_text(echoes_of(route, true), route.grown("received")) : "-",
             format_count(route.total("received")),
             share_text(echoes_of(route, false), route.total("received")),
             printable(route.text("filter"))});
    }
    return table.text();
}

std::string busy_share(const Pair& worker) {
    if (worker.after().contains("busy_ns") && worker.known()) {
        return share_text(worker.grown("busy_ns"),
                          worker.grown("busy_ns") + worker.grown("idle_ns"));
    }
    const std::uint64_t polls = worker.known() ? worker.grown("polls") : worker.total("polls");
    const std::uint64_t empty =
        worker.known() ? worker.grown("empty_polls") : worker.total("empty_polls");
    return share_text(polls - std::min(empty, polls), polls);
}

std::string workers(const SnapshotPair& snapshots) {
    TextTable table(
        {"worker", ">busy", ">rx/s", ">handed in/s", ">stalls", ">longest gap", "answers"});
    for (const Pair& worker : pairs_of(snapshots, "workers")) {
        const std::uint64_t gap = worker.total("longest_gap_ns");
        const bool stalls = worker.after().contains("stalls");
        table.row({"lcore " + dump_json(member(worker.after(), "lcore")), busy_share(worker),
                   worker.rate("rx_packets"), worker.rate("handed_in"),
                   format_count(worker.total(stalls ? "stalls" : "gaps")),
                   gap == 0 ? "-" : brief_duration(gap),
                   bool_or(worker.after(), "answering", true) ? "yes" : "NO"});
    }
    return table.text();
}

std::string filters(const SnapshotPair& snapshots) {
    TextTable table({"filter", "engine", ">window", ">achieved", ">least", ">inserted/s", ">fill",
                     ">predicted"});
    for (const Pair& filter : pairs_of(snapshots, "filters")) {
        const auto predicted = number(member(filter.after(), "predicted_false_drop"));
        const auto window = [&](const char* name) {
            const std::uint64_t value = filter.total(name);
            return value == 0 ? std::string("-") : brief_duration(value);
        };
        table.row({printable(filter.text("name")), printable(filter.text("engine")),
                   window("window_ns"), window("achieved_window_ns"), window("shortest_window_ns"),
                   filter.rate("insertions"),
                   share_text(filter.total("fill"), filter.total("planned_fill")),
                   predicted ? format_number("%.2g", *predicted) : "-"});
    }
    return table.text();
}

std::string generations(const SnapshotPair& snapshots) {
    TextTable table(
        {"generations of", ">planned", ">longest", ">late by", ">turned", ">early", ">held"});
    bool any = false;
    for (const Pair& filter : pairs_of(snapshots, "filters")) {
        const std::uint64_t planned = filter.total("generation_ns");
        const std::uint64_t longest = filter.total("longest_generation_ns");
        if (planned == 0) {
            continue;
        }
        any = true;
        table.row({printable(filter.text("name")), brief_duration(planned),
                   longest == 0 ? "-" : brief_duration(longest),
                   longest <= planned ? "-" : brief_duration(longest - planned),
                   format_count(filter.total("shifts")), format_count(filter.total("early_turns")),
                   format_count(filter.total("held_turns"))});
    }
    return any ? "\n" + table.text() : "";
}

std::string roots(const SnapshotPair& snapshots) {
    TextTable table({"root of", ">masters", ">asked/s", ">asked", ">known", ">late", ">unanswered",
                     ">longest"});
    bool any = false;
    for (const Pair& filter : pairs_of(snapshots, "filters")) {
        const Pair root = filter.inner("root");
        if (!root.after().is_object()) {
            continue;
        }
        any = true;
        const std::uint64_t longest = root.total("longest_round_trip");
        table.row({printable(filter.text("name")),
                   fmt::format("{} of {}", format_count(root.total("answering")),
                               format_count(root.total("masters"))),
                   root.rate("asked"), format_count(root.total("asked") + root.total("not_asked")),
                   format_count(root.total("known")), format_count(root.total("late")),
                   format_count(root.total("unanswered") + root.total("not_asked")),
                   longest == 0 ? "-" : brief_duration(longest)});
    }
    return any ? "\n" + table.text() : "";
}

bool has_traffic(const Json& path) {
    return unsigned_or(path, "came") != 0 || unsigned_or(path, "missing") != 0;
}

bool has_bound_of_delay(const Json& path) {
    return as_unsigned(member(path, "max_path_delay_ns")).has_value();
}

// The interval of the loss is left out where the table would be wider than the terminal.
std::string path_table(const Json& paths, bool with_interval) {
    std::vector<std::string> header{"path", ">sampled", ">missing", ">loss"};
    if (with_interval) {
        header.emplace_back(">95 % interval");
    }
    header.insert(header.end(), {">median", ">99 % within"});
    const bool with_late = std::any_of(paths.begin(), paths.end(), has_bound_of_delay);
    if (with_late) {
        header.emplace_back(">late");
    }
    TextTable table(header);
    for (const Json& path : paths) {
        if (!has_traffic(path)) {
            continue;
        }
        const Json& loss = member(path, "loss");
        const std::uint64_t judged = unsigned_or(loss, "of");
        const auto delay = [&](const char* name) {
            const auto value = as_unsigned(member(member(path, "delay"), name));
            return value ? brief_duration(*value) : std::string("-");
        };
        std::vector<std::string> row{printable(string_or(path, "name")), format_count(judged),
                                     format_count(unsigned_or(loss, "count")),
                                     share_text(unsigned_or(loss, "count"), judged)};
        if (with_interval) {
            const auto low = number(member(loss, "low"));
            const auto high = number(member(loss, "high"));
            row.push_back(low && high && judged != 0
                              ? fmt::format("{} - {}", percent(*low), percent(*high))
                              : "-");
        }
        row.insert(row.end(), {delay("median_ns"), delay("p99_ns")});
        if (with_late) {
            row.push_back(share_text(unsigned_or(path, "late"), unsigned_or(path, "timed")));
        }
        table.row(std::move(row));
    }
    return table.text();
}

// Such as "changed on a>b: ttl 100 %, padding 3.10 %".
std::string path_changes(const Json& path, std::size_t width) {
    std::string changes;
    for (const auto& item : member(path, "changes").items()) {
        changes += fmt::format(
            "{}{} {}", changes.empty() ? "" : ", ", spaced(printable(item.key())),
            share_text(as_unsigned(item.value()).value_or(0), unsigned_or(path, "directed")));
    }
    return changes.empty() ? ""
                           : wrapped(fmt::format("  changed on {}: {}",
                                                 printable(string_or(path, "name")), changes),
                                     width, "    ") +
                                 "\n";
}

std::string paths(const SnapshotPair& snapshots, std::size_t width) {
    const Json& all = member(snapshots.after, "paths");
    if (std::none_of(all.begin(), all.end(), has_traffic)) {
        return "";
    }
    std::string out = path_table(all, true);
    if (characters(std::string_view(out).substr(0, out.find('\n'))) > width) {
        out = path_table(all, false);
    }
    for (const Json& path : all) {
        out += has_traffic(path) ? path_changes(path, width) : "";
    }
    return out;
}

std::string interval(const Json& rate) {
    const auto low = number(member(rate, "low"));
    const auto high = number(member(rate, "high"));
    return low && high ? fmt::format(" [{:.2g}, {:.2g}]", *low, *high) : "";
}

// Such as "; and with a reason: 2 stall, 1 evicted".
std::string explained_rate(const Json& rate) {
    std::string out;
    for (const auto& item : member(rate, "explained").items()) {
        if (const std::uint64_t count = as_unsigned(item.value()).value_or(0); count != 0) {
            out += fmt::format("{} {} {}", out.empty() ? "; and with a reason:" : ",",
                               format_count(count), printable(item.key()));
        }
    }
    return out;
}

// Such as "false drops: 3 of 290,000,000, 1e-08 [2e-09, 3e-08], bound 1e-06: held".
std::string measured(const Json& rate, const std::string& what) {
    if (!rate.is_object()) {
        return "";
    }
    std::string out = fmt::format("{}: {} of {}", what, format_count(unsigned_or(rate, "count")),
                                  format_count(unsigned_or(rate, "of")));
    if (const auto value = number(member(rate, "rate"))) {
        out += fmt::format(", {:.2g}{}", *value, interval(rate));
    }
    if (const auto bound = number(member(rate, "bound"))) {
        out += ", bound " + format_number("%.2g", *bound);
    }
    const std::string verdict = printable(string_or(rate, "verdict"));
    out += verdict.empty() ? "" : ": " + verdict;
    const std::uint64_t until = unsigned_or(rate, "confirmed_in_ns");
    out += verdict == "open" && until != 0
               ? ", confirmed in about " + brief_duration(until) + "; nothing is wrong until then"
               : "";
    return out + explained_rate(rate) + "\n";
}

std::string audits(const SnapshotPair& snapshots) {
    std::string out;
    for (const Json& filter : member(snapshots.after, "filters")) {
        const Json& audit = member(filter, "audit");
        if (!audit.is_object() || !bool_or(audit, "enabled", true)) {
            continue;
        }
        out += fmt::format("  audit of {}\n", printable(string_or(filter, "name")));
        for (const auto& line : {measured(member(audit, "false_drops"), "false drops"),
                                 measured(member(audit, "misses"), "misses")}) {
            out += line.empty() ? "" : "    " + line;
        }
        if (const std::uint64_t needed = unsigned_or(audit, "window_999_ns"); needed != 0) {
            out += fmt::format("    99.9 % of the copies come within {}\n", brief_duration(needed));
        }
    }
    return out;
}

// Advice is whole, whatever the width.
std::string advice(const SnapshotPair& snapshots, const TextStyle& style) {
    std::string out;
    for (const Json& filter : member(snapshots.after, "filters")) {
        for (const Json& text : member(member(filter, "audit"), "advice")) {
            if (text.is_string()) {
                const std::string line = fmt::format(
                    "  advice for {}: {}", string_or(filter, "name"), text.get<std::string>());
                out += wrapped(printable(line), style.width, "    ") + "\n";
            }
        }
    }
    return out;
}

std::string head(const ApplianceStatus& appliance, const SnapshotPair& snapshots,
                 const TextStyle& style) {
    const Json& info = member(snapshots.after, "info");
    std::string out = coloured(printable(appliance.name), kBold, style);
    out += fmt::format("  unecho {}, up {}", printable(string_or(info, "version")),
                       brief_duration(unsigned_or(info, "uptime_ns")));
    if (const std::uint64_t pid = unsigned_or(info, "pid"); pid != 0) {
        out += ", pid " + std::to_string(pid);
    }
    return out + "\n";
}

const char* label_of(const Finding& finding) {
    return finding.acknowledged                    ? "acknowledged: "
           : finding.severity == Severity::kBroken ? "BROKEN: "
                                                   : "warning: ";
}

std::string health_text(const ApplianceStatus& appliance, const TextStyle& style) {
    const Health& health = appliance.health;
    if (health.findings.empty()) {
        return coloured("all is well", kGreen, style) + "\n";
    }
    std::string out;
    for (const Finding& finding : health.findings) {
        const std::string line = fmt::format("{}{} [{}]", label_of(finding),
                                             sentences(finding, appliance.answered), finding.rule);
        const std::string_view colour = finding.acknowledged                    ? kPlain
                                        : finding.severity == Severity::kBroken ? kRed
                                                                                : kYellow;
        out += coloured(wrapped(printable(line), style.width, "  "), colour, style) + "\n";
    }
    return out +
           wrapped(std::string(kRunbook) + " has a section for each name in brackets.", style.width,
                   "  ") +
           "\n";
}

}  // namespace

std::string status_text(const ApplianceStatus& appliance, const SnapshotPair& snapshots,
                        const TextStyle& style) {
    if (appliance.state != ApplianceState::kRunning) {
        return coloured(cut(fmt::format("{} is {}: it {}", printable(appliance.name),
                                        name_of(appliance.state), printable(appliance.problem)),
                            style.width),
                        kRed, style) +
               "\n";
    }
    std::string tables = fates(snapshots) + "\n" + ports(snapshots) + "\n" + routes(snapshots) +
                         "\n" + workers(snapshots) + "\n" + filters(snapshots) +
                         generations(snapshots) + roots(snapshots);
    if (const std::string measured_text = audits(snapshots); !measured_text.empty()) {
        tables += "\n" + measured_text;
    }
    if (const std::string path_text = paths(snapshots, style.width); !path_text.empty()) {
        tables += "\n" + path_text;
    }
    return head(appliance, snapshots, style) + health_text(appliance, style) + "\n" +
           cut_lines(tables, style.width) + advice(snapshots, style);
}

namespace {

// Monitoring systems take the text behind a bar for performance data.
std::string without_bars(std::string_view text) {
    std::string out = printable(text);
    std::replace(out.begin(), out.end(), '|', '/');
    return out;
}

}  // namespace

std::string check_text(const ApplianceStatus& appliance) {
    const Health& health = appliance.health;
    static constexpr std::array kWords{"OK", "WARNING", "CRITICAL"};
    std::string out =
        fmt::format("UNECHO {} - {}: ", kWords.at(static_cast<std::size_t>(health.severity)),
                    without_bars(appliance.name));
    const Json& counters = member(appliance.seen, "counters");
    if (health.severity == Severity::kFine) {
        out += fmt::format("{} received, {} dropped, all accounted for",
                           format_quantity(unsigned_or(counters, "received"), "packet"),
                           format_count(unsigned_or(counters, "dropped")));
    }
    for (const Finding& finding : health.findings) {
        const bool first = health.severity != Severity::kFine && &finding == health.findings.data();
        out += (first ? "" : "; ") + std::string(finding.acknowledged ? "acknowledged: " : "") +
               without_bars(sentences(finding, appliance.answered)) + " [" +
               std::string(finding.rule) + "]";
    }
    out += " |";
    for (const char* fate : {"received", "forwarded", "diverted", "dropped"}) {
        out += fmt::format(" {}={}c", fate, unsigned_or(counters, fate));
    }
    return out + "\n";
}

std::string cut_to_height(const std::string& text, std::size_t lines) {
    const auto all = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    if (all <= lines || lines == 0) {
        return text;
    }
    std::size_t end = 0;
    for (std::size_t line = 0; line + 1 < lines; ++line) {
        end = text.find('\n', end) + 1;
    }
    return text.substr(0, end) + "... " + format_quantity(all - lines + 1, "more line") + "\n";
}

}  // namespace unecho::monitor
