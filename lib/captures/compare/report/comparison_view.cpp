// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/report/comparison_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/option_names.h"
#include "captures/compare/report/charts.h"
#include "captures/view/html/page.h"
#include "captures/view/text.h"

namespace unecho::compare {
namespace {

using view::Cell;
using view::Chart;
using view::Paragraph;
using view::Row;
using view::Section;
using view::Table;
using view::Tone;

// Return "1.07 ms", or "-20 us".
std::string signed_duration(std::int64_t time) {
    return time < 0 ? "-" + brief_duration(static_cast<Nanoseconds>(-time))
                    : brief_duration(static_cast<Nanoseconds>(time));
}
std::string signed_duration(double time) {
    return signed_duration(std::int64_t{std::llround(time)});
}

std::string interval_text(const sizing::Interval& interval) {
    return fmt::format("{} to {}", percent(interval.low), percent(interval.high));
}

// Return the paths with packets, in the order of the pairs.
std::vector<const Path*> paths_of(const Comparison& comparison) {
    std::vector<const Path*> out;
    for (const PointPair& pair : comparison.pairs) {
        for (const Path* path : {&pair.there, &pair.back}) {
            if (path->sent != 0) {
                out.push_back(path);
            }
        }
    }
    return out;
}

class ViewMaker {
  public:
    explicit ViewMaker(const Comparison& comparison)
        : of_(comparison), paths_(paths_of(comparison)) {}

    view::ReportView make() {
        view::ReportView out;
        out.title =
            fmt::format("Paths between {} and {}", of_.points.front().name, of_.points.back().name);
        for (const Point& point : of_.points) {
            out.inputs.push_back(point.name);
        }
        out.opening = opening();
        set_headline(out);
        add_answer(out.answer);
        out.sections = {loss(),  delay(),  time(),   order(), changes(),
                        flows(), points(), clocks(), limits()};
        std::erase_if(out.sections, [](const Section& each) { return each.blocks.empty(); });
        return out;
    }

  private:
    [[nodiscard]] const std::string& name(std::size_t point) const {
        return of_.points[point].name;
    }
    [[nodiscard]] std::string name(const Path& path) const {
        return fmt::format("{} to {}", name(path.from), name(path.to));
    }
    [[nodiscard]] bool is_direct(const Path& path) const {
        return path.from + 1 == path.to || path.to + 1 == path.from;
    }

    [[nodiscard]] std::string opening() const {
        std::uint64_t packets = 0;
        for (const Point& point : of_.points) {
            packets += point.counts.packets;
        }
        std::string text = fmt::format("{}, {}", format_quantity(of_.points.size(), "point"),
                                       format_quantity(packets, "packet"));
        if (of_.sample_bits != 0) {
            text += fmt::format(", of which 1 in {} was compared",
                                format_count(std::uint64_t{1} << of_.sample_bits));
        }
        return text;
    }

    // The path between neighbours that lost the largest share.
    void set_headline(view::ReportView& out) const {
        const Path* worst = nullptr;
        for (const Path* path : paths_) {
            if (is_direct(*path) &&
                (worst == nullptr ||
                 share_of(path->missing, path->sent) > share_of(worst->missing, worst->sent))) {
                worst = path;
            }
        }
        if (worst == nullptr) {
            out.headline =
                any_matched() ? "No packet could be judged" : "No packet was seen at two points";
        } else if (worst->missing == 0) {
            out.headline = "No packet is missing";
        } else {
            const std::string lost = percent(share_of(worst->missing, worst->sent));
            out.accent = lost.size();
            out.headline = fmt::format("{} of the packets from {} never came to {}", lost,
                                       name(worst->from), name(worst->to));
        }
    }

    [[nodiscard]] bool any_matched() const {
        return std::any_of(of_.pairs.begin(), of_.pairs.end(),
                           [](const PointPair& pair) { return pair.matched != 0; });
    }

    void add_answer(std::vector<view::Block>& blocks) const {
        for (const Path* path : paths_) {
            if (is_direct(*path)) {
                blocks.emplace_back(Paragraph{sentence(*path), Tone::kLead});
            }
        }
        if (paths_.empty()) {
            blocks.emplace_back(Paragraph{
                any_matched() ? "All packets that were seen at two points lie at the ends of the "
                                "captures, where a missing one could not be told from one that was "
                                "not captured."
                              : nothing_matched()});
        }
        for (const PointPair& pair : of_.pairs) {
            if (pair.a + 1 == pair.b) {
                add_doubts(pair, blocks);
            }
        }
        for (const std::string& warning : of_.warnings) {
            blocks.emplace_back(Paragraph{warning, Tone::kWarning});
        }
    }

    [[nodiscard]] std::string sentence(const Path& path) const {
        std::string text =
            fmt::format("From {}: {} of {} missing ({}; 95 % interval {})", name(path),
                        format_count(path.missing), format_quantity(path.sent, "packet"),
                        percent(share_of(path.missing, path.sent)), interval_text(path.loss));
        if (path.timed) {
            text +=
                fmt::format(", delay {} in the median, {} at the 99th percentile, {} at most",
                            signed_duration(path.delays.median), signed_duration(path.delays.p99),
                            signed_duration(path.delays.most));
        }
        if (path.reordered != 0) {
            text +=
                fmt::format(", {} out of order", percent(share_of(path.reordered, path.arrived)));
        }
        return text + ".";
    }

    [[nodiscard]] std::string nothing_matched() const {
        std::string text =
            "Either the captures are of different traffic or times, or every packet changed in "
            "between: ";
        text += of_.nat ? "by a proxy, by encryption, or by fragmentation."
                        : fmt::format(
                              "behind a NAT try {}; a proxy, encryption and fragmentation make new "
                              "packets.",
                              option::kNat);
        return text;
    }

    // Say what a reader has to know before believing the figures of a pair.
    void add_doubts(const PointPair& pair, std::vector<view::Block>& blocks) const {
        if (const std::string clocks = clock_sentence(pair); !clocks.empty()) {
            blocks.emplace_back(Paragraph{clocks});
        }
        const bool turned = pair.there.delays.median < 0 || pair.back.delays.median < 0;
        if (!of_.mirror && (turned || (pair.clock.bounded && pair.clock.low > pair.clock.high))) {
            blocks.emplace_back(Paragraph{
                fmt::format("Both directions came later to {}, or both to {}: if one is a mirror "
                            "of the other, name the mirror last and use {}.",
                            name(pair.a), name(pair.b), option::kMirror),
                Tone::kWarning});
        }
        add_unknown(pair, true, blocks);
        if (pair.far * 100 > pair.matched) {
            blocks.emplace_back(Paragraph{
                fmt::format("{} were seen at both points, but further apart than {}: a clock was "
                            "set meanwhile, or they take longer than {} allows.",
                            format_quantity(pair.far, "packet"), format_duration(of_.window),
                            option::kWindow),
                Tone::kWarning});
        }
        if (pair.cut != 0) {
            blocks.emplace_back(Paragraph{
                fmt::format("{} seen at one point alone {} cut short. A packet that is cut "
                            "elsewhere differs: {} compares the bytes that both captures have.",
                            format_quantity(pair.cut, "packet"), pair.cut == 1 ? "is" : "are",
                            option::kKeyBytes),
                Tone::kWarning});
        }
    }

    [[nodiscard]] std::string clock_sentence(const PointPair& pair) const {
        const ClockModel& clock = pair.clock;
        const std::int64_t offset = clock.line.at(clock.line.begin);
        switch (clock.relation) {
            case ClockRelation::kAssumed:
                return fmt::format(
                    "Packets came in one direction only: delays include the difference of the "
                    "clocks of {} and {}, if there is one.",
                    name(pair.a), name(pair.b));
            case ClockRelation::kOneWay:
                return fmt::format(
                    "Packets came in one direction only, so the difference of the clocks of {} and "
                    "{} is not known: delays count from the fastest packet.",
                    name(pair.a), name(pair.b));
            case ClockRelation::kEstimated:
                if (clock.low > clock.high) {
                    return fmt::format(
                        "The clocks of {} and {} do not drift evenly, or one was set: no straight "
                        "line separates the two directions, and delays may be wrong by {} or more.",
                        name(pair.a), name(pair.b), signed_duration(clock.low - clock.high));
                }
                return fmt::format(
                    "The clock of {} is {} {}, with a drift of {:.3g} ppm. This assumes that the "
                    "fastest packets of both directions took equally long; delays may be wrong by "
                    "up to {}, in opposite directions. Their sum is exact.",
                    name(pair.b), signed_duration(std::abs(offset)),
                    offset < 0 ? "behind" : "ahead", clock.line.drift * 1e6,
                    signed_duration((clock.high - clock.low) / 2));
            case ClockRelation::kUnknown:
            case ClockRelation::kStated:
            case ClockRelation::kAgree:
                break;
        }
        return "";
    }

    [[nodiscard]] Section loss() const {
        Section out{.id = "loss", .title = "Loss", .wide = true};
        Table table{
            .columns = {"path", ">sent", ">missing", ">share", ">95 % interval", ">not judged"}};
        for (const Path* path : paths_) {
            Cell missing(format_count(path->missing));
            missing.harm = path->missing != 0;
            table.rows.push_back(
                {.cells = {name(*path), format_count(path->sent), missing,
                           percent(share_of(path->missing, path->sent)), interval_text(path->loss),
                           format_count(path->unjudged)}});
        }
        if (!table.rows.empty()) {
            out.blocks.emplace_back(std::move(table));
            out.blocks.emplace_back(Paragraph{
                fmt::format("Judged are packets that had to be seen at the other point while both "
                            "captured. A packet is missing if it did not come within {}.",
                            format_duration(of_.window)),
                Tone::kSmall});
        }
        for (const PointPair& pair : of_.pairs) {
            add_unknown(pair, pair.a + 1 != pair.b, out.blocks);
        }
        return out;
    }

    // Say what was not judged of a pair. Few such packets are usual, of neighbours and groups: the
    // answer says it of many, the section of few.
    void add_unknown(const PointPair& pair, bool many, std::vector<view::Block>& blocks) const {
        const auto say = [&](std::size_t at, std::size_t other, std::uint64_t packets,
                             std::uint64_t flows) {
            if (packets != 0 && (packets * 100 > of_.points[at].compared) == many) {
                blocks.emplace_back(Paragraph{fmt::format(
                    "Not judged: {} of {} at {} alone, between hosts that are not known to be on "
                    "different sides. They may not lead to {}, or something blocks all of theirs; "
                    "{} counts them as missing.",
                    format_quantity(packets, "packet"), format_quantity(flows, "flow"), name(at),
                    name(other), option::kEveryPacket)});
            }
        };
        say(pair.a, pair.b, pair.only_a, pair.only_a_flows);
        say(pair.b, pair.a, pair.only_b, pair.only_b_flows);
    }

    [[nodiscard]] Section delay() const {
        Section out{.id = "delay", .title = "Delay", .wide = true};
        Table table{.columns = {"path", ">least", ">median", ">mean", ">99 %", ">99.9 %", ">most",
                                ">variation"}};
        for (const Path* path : paths_) {
            if (path->timed) {
                const Delays& delays = path->delays;
                table.rows.push_back(
                    {.cells = {name(*path), signed_duration(delays.least),
                               signed_duration(delays.median), signed_duration(delays.mean),
                               signed_duration(delays.p99), signed_duration(delays.p999),
                               signed_duration(delays.most), signed_duration(delays.variation)}});
            }
        }
        if (!table.rows.empty()) {
            out.blocks.emplace_back(std::move(table));
            out.blocks.emplace_back(Paragraph{
                "Variation is the mean difference of the delays of successive packets (RFC 3393).",
                Tone::kSmall});
        }
        return out;
    }

    [[nodiscard]] Section time() const {
        Section out{.id = "time", .title = "Over time", .wide = true};
        for (std::size_t i = 0; i < paths_.size(); ++i) {
            if (!is_direct(*paths_[i]) || !paths_[i]->timed) {
                continue;
            }
            out.blocks.emplace_back(
                Paragraph{fmt::format("From {}:", name(*paths_[i])), Tone::kLead});
            out.blocks.emplace_back(delay_over_time(i));
            if (paths_[i]->missing != 0) {
                out.blocks.emplace_back(loss_over_time(i));
            }
        }
        return out;
    }

    [[nodiscard]] Table delay_over_time(std::size_t i) const {
        const Path& path = *paths_[i];
        Table table{.title = "Delay over time",
                    .columns = {">after", ">median", ">99 %"},
                    .chart = Chart::kDelay,
                    .subject = i};
        std::int64_t most = 1;
        for (const TimeBin& bin : path.time) {
            most = std::max(most, bin.p99);
        }
        for (const TimeBin& bin : path.time) {
            if (bin.sent != bin.missing) {
                table.rows.push_back(
                    {.cells = {after(path, bin), signed_duration(bin.median),
                               signed_duration(bin.p99)},
                     .bar = {.copies = static_cast<double>(bin.p99) / static_cast<double>(most)}});
            }
        }
        return table;
    }

    [[nodiscard]] Table loss_over_time(std::size_t i) const {
        const Path& path = *paths_[i];
        Table table{.title = "Loss over time",
                    .columns = {">after", ">sent", ">missing", ">share"},
                    .chart = Chart::kLoss,
                    .subject = i};
        double most = 0;
        for (const TimeBin& bin : path.time) {
            most = std::max(most, share_of(bin.missing, bin.sent));
        }
        for (const TimeBin& bin : path.time) {
            if (bin.missing != 0) {
                const double lost = share_of(bin.missing, bin.sent);
                table.rows.push_back({.cells = {after(path, bin), format_count(bin.sent),
                                                format_count(bin.missing), percent(lost)},
                                      .bar = {.copies = lost / most}});
            }
        }
        return table;
    }

    [[nodiscard]] static std::string after(const Path& path, const TimeBin& bin) {
        return brief_duration(bin.begin - path.time.front().begin);
    }

    [[nodiscard]] Section order() const {
        Section out{.id = "order", .title = "Order", .wide = true};
        Table table{.columns = {"path", ">arrived", ">out of order in their flow", ">share",
                                ">overtaken by, at most", ">out of order among all"}};
        for (const Path* path : paths_) {
            if (path->reordered_of_all != 0) {
                table.rows.push_back({.cells = {name(*path), format_count(path->arrived),
                                                format_count(path->reordered),
                                                percent(share_of(path->reordered, path->arrived)),
                                                format_quantity(path->farthest, "packet"),
                                                format_count(path->reordered_of_all)}});
            }
        }
        if (!table.rows.empty()) {
            out.blocks.emplace_back(std::move(table));
        }
        return out;
    }

    [[nodiscard]] Section changes() const {
        static constexpr std::array<const char*, kChangeNames.size()> kTexts{
            "addresses or ports (recognised by content, no proof)",
            "tunnel added",
            "tunnel removed",
            "another tunnel",
            "VLAN tags or labels added",
            "VLAN tags or labels removed",
            "other VLAN tags or labels",
            "MAC addresses",
            "TTL or hop limit",
            "DSCP",
            "ECN: congestion marked",
            "ECN: changed otherwise",
            "padding behind the packet",
            "checksum alone"};
        Section out{.id = "changes", .title = "What changed on the way", .wide = true};
        Table table{.columns = {"path", "change", ">packets", ">share"}};
        for (const Path* path : paths_) {
            for (std::size_t i = 0; i < kTexts.size(); ++i) {
                const std::uint64_t packets = path->changes.at(i);
                if (packets != 0) {
                    const bool ttl = i == static_cast<std::size_t>(Change::kTtl);
                    table.rows.push_back(
                        {.cells = {name(*path),
                                   std::string(kTexts.at(i)) + (ttl ? steps(*path) : ""),
                                   format_count(packets),
                                   percent(share_of(packets, path->all_arrived))}});
                }
            }
        }
        if (!table.rows.empty()) {
            out.blocks.emplace_back(std::move(table));
        }
        return out;
    }
    // Return ", by 1 (9,000), 2 (30)", the most frequent first.
    [[nodiscard]] static std::string steps(const Path& path) {
        auto all = path.ttl_steps;
        std::sort(all.begin(), all.end(),
                  [](const auto& x, const auto& y) { return x.second > y.second; });
        constexpr std::size_t kMost = 4;
        std::string text;
        for (std::size_t i = 0; i < std::min(all.size(), kMost); ++i) {
            text += fmt::format("{}{} ({})", i == 0 ? ", by " : ", ", all[i].first,
                                format_count(all[i].second));
        }
        return all.size() > kMost ? text + ", ..." : text;
    }

    [[nodiscard]] Section flows() const {
        Section out{.id = "flows", .title = "Flows that lost most", .wide = true};
        for (const Path* path : paths_) {
            if (!is_direct(*path)) {
                continue;
            }
            Table table{
                .title = "From " + name(*path),
                .columns = {"flow", ">sent", ">missing", ">share", ">median delay", ">most"}};
            for (const FlowLoss& flow : path->flows) {
                const bool arrived = flow.missing != flow.sent;
                table.rows.push_back({.cells = {text_of(flow.flow), format_count(flow.sent),
                                                format_count(flow.missing),
                                                percent(share_of(flow.missing, flow.sent)),
                                                arrived ? signed_duration(flow.median) : "",
                                                arrived ? signed_duration(flow.most) : ""}});
            }
            if (path->all_flows > path->flows.size()) {
                table.rest =
                    "and " + format_quantity(path->all_flows - path->flows.size(), "more flow");
            }
            if (!table.rows.empty()) {
                out.blocks.emplace_back(std::move(table));
            }
        }
        return out;
    }

    [[nodiscard]] Section points() const {
        Section out{.id = "points", .title = "Points", .wide = true};
        Table table{
            .columns = {"point", ">packets", ">compared", ">seen twice", ">not comparable"}};
        for (const Point& point : of_.points) {
            table.rows.push_back(
                {.cells = {point.name, format_count(point.counts.packets),
                           format_count(point.compared), format_count(point.duplicates),
                           format_count(point.counts.keyless)}});
        }
        out.blocks.emplace_back(std::move(table));
        for (const Path* path : paths_) {
            if (path->unannounced != 0 && is_direct(*path)) {
                out.blocks.emplace_back(Paragraph{fmt::format(
                    "Came to {} without having been seen at {}, where they passed: {} ({}). The "
                    "tap or capture at {} lost them.",
                    name(path->to), name(path->from), format_quantity(path->unannounced, "packet"),
                    interval_text(path->unannounced_share), name(path->from))});
            }
        }
        for (const Point& point : of_.points) {
            if (point.passed != 0) {
                out.blocks.emplace_back(
                    Paragraph{fmt::format("Of {} that the points on both sides of {} saw, it did "
                                          "not show {}: its tap or capture lost them.",
                                          format_quantity(point.passed, "packet"), point.name,
                                          format_count(point.overlooked))});
            }
        }
        return out;
    }

    [[nodiscard]] Section clocks() const {
        Section out{.id = "clocks", .title = "Clocks", .wide = true};
        Table table{.columns = {"of", "compared with", "relation", ">ahead by", ">drift",
                                ">least possible", ">most possible"}};
        for (const PointPair& pair : of_.pairs) {
            const ClockModel& clock = pair.clock;
            table.rows.push_back(
                {.cells = {name(pair.b), name(pair.a), relation_text(clock.relation),
                           signed_duration(clock.line.at(clock.line.begin)),
                           format_number("%.3g ppm", clock.line.drift * 1e6),
                           clock.bounded ? signed_duration(clock.low) : "",
                           clock.bounded ? signed_duration(clock.high) : ""}});
        }
        out.blocks.emplace_back(std::move(table));
        return out;
    }

    [[nodiscard]] static std::string relation_text(ClockRelation relation) {
        switch (relation) {
            case ClockRelation::kStated:
                return "equal, as stated";
            case ClockRelation::kAssumed:
                return "equal: nothing shows otherwise, in one direction only";
            case ClockRelation::kAgree:
                return "equal: both directions allow it";
            case ClockRelation::kEstimated:
                return "estimated from both directions";
            case ClockRelation::kOneWay:
                return "from the fastest packet of one direction";
            case ClockRelation::kUnknown:
                break;
        }
        return "unknown";
    }

    [[nodiscard]] Section limits() const {
        Section out{.id = "limits", .title = "What this cannot say", .wide = true};
        view::List list;
        if (of_.points.size() == 2) {
            list.items.emplace_back(
                "Whether the network or the tap at the second point lost a missing packet: only a "
                "third point behind it shows that.");
        }
        list.items.emplace_back(
            "Equal packets without an ID (IPv6, keepalives) are matched in their order; a missing "
            "one may be a neighbour of the one that is named.");
        list.items.emplace_back(
            "Fragments and segments that were cut or joined on the way are different packets.");
        if (of_.sample_bits != 0) {
            list.items.emplace_back(fmt::format(
                "Only a part of the packets was compared, for lack of memory: shares and intervals "
                "are right, counts are of this part. More {} compares more.",
                option::kMemory));
        }
        out.blocks.emplace_back(std::move(list));
        return out;
    }

    const Comparison& of_;
    std::vector<const Path*> paths_;
};

}  // namespace

std::string to_summary_text(const Comparison& comparison) {
    return view::to_summary(ViewMaker(comparison).make());
}

std::string to_text(const Comparison& comparison) {
    return view::to_text(ViewMaker(comparison).make());
}

std::string to_html(const Comparison& comparison) {
    const std::vector<const Path*> paths = paths_of(comparison);
    return view::to_html(
        ViewMaker(comparison).make(),
        [&](const Table& table) { return draw(table.chart, *paths[table.subject]); }, "compare");
}

}  // namespace unecho::compare
