// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/join_text.h"
#include "base/option_names.h"
#include "captures/analyze/classify/not_compared.h"
#include "captures/analyze/recommend/what_if.h"
#include "captures/analyze/report/report_toml.h"
#include "captures/analyze/report/text_format.h"
#include "captures/analyze/report/view/view_parts.h"
#include "captures/analyze/report/view/view_sections.h"

namespace unecho::analyze {
namespace {

std::string worst_mode(const Report& report) {
    const auto worst = std::max_element(
        report.modes.begin(), report.modes.end(), [](const Mode& a, const Mode& b) {
            return a.recommended.lost.packets < b.recommended.lost.packets;
        });
    const Count& lost = worst->recommended.lost;
    return lost.packets == 0
               ? ""
               : fmt::format(
                     "Key {} would drop {} that {}, {} on the wire: {} of all packets would be "
                     "lost.",
                     packet::name_of(worst->key), format_quantity(lost.packets, "packet"),
                     lost.packets == 1 ? "is no copy" : "are no copies", brief_size(lost.bytes),
                     share_text(lost.packets, report.total.packets));
}

std::string names_or_none(const std::vector<std::string>& names) {
    return names.empty() ? "none" : join_text(names);
}

std::string not_needed(const Report& report) {
    if (any_not_compared(report, NotComparedEffect::kUnknown)) {
        return "Whether anything is to be removed cannot be known. If they are copies:";
    }
    if (is_not_compared(report, "clocks")) {
        return "No window removes the copies before the clocks agree. For the rest:";
    }
    if (report.copied.packets == 0 && report.sent_again.packets != 0) {
        const UncertainRepeats& doubtful = report.basis.doubtful;
        return doubtful.doubled != 0 || doubtful.in_storms != 0
                   ? "Not needed, if what came again was sent again (see below):"
                   : "Not needed: what came again was sent again. If you want to be sure:";
    }
    return report.not_compared.empty()
               ? "There is hardly anything to remove here. If you want to be sure:"
               : "Nothing is to be removed of what could be compared. If you want to be sure:";
}

Facts reasons(const Report& report) {
    Facts out{Facts::Look::kReasons};
    for (const Setting& each : settings(report)) {
        if (!each.text.empty() && !each.reason.empty()) {
            out.facts.push_back({each.key, each.text, each.reason});
        }
    }
    const Recommendation& wanted = report.recommendation;
    for (const auto& [name, reason] :
         {std::pair{"how sure", wanted.sure_reason}, std::pair{"taps", wanted.taps_reason}}) {
        if (!reason.empty()) {
            out.facts.push_back({name, "", reason});
        }
    }
    return out;
}

}  // namespace

Section modes_section(const Report& report) {
    Section out{"modes", "Which key?"};
    if (report.keyed.packets == 0) {
        return out;
    }
    const std::optional<Nanoseconds> window = report.modes.front().recommended.window;
    put(out.blocks,
        fmt::format(
            "What each key mode would drop {} with policy fixed{}. Too many: packets that are no "
            "copies. Missing: copies that only key packet would drop.",
            window ? "within " + brief_duration(*window) : "however old",
            report.recommendation.non_ip == packet::NonIp::kFrame ? " and non_ip frame" : ""));
    put(out.blocks, worst_mode(report), Tone::kWarning);
    Table table{.columns = {"key", ">drops", ">too many", ">missing"}};
    std::uint64_t most = 1;
    for (const Mode& mode : report.modes) {
        most = std::max(most, mode.recommended.dropped.packets);
    }
    for (std::size_t i = 0; i < report.modes.size(); ++i) {
        const ModeRow& at = report.modes[i].recommended;
        const std::string name = indexed("modes", i, ".recommended");
        const std::uint64_t lost = std::min(at.lost.packets, at.dropped.packets);
        table.rows.push_back(
            {{packet::name_of(report.modes[i].key), figure(name + ".dropped", at.dropped),
              harm(figure(name + ".lost", at.lost)), figure(name + ".missed", at.missed)},
             "",
             {share(at.dropped.packets - lost, most), share(lost, most)}});
    }
    put(out.blocks, std::move(table));
    if (any_key_bytes(report)) {
        put(out.blocks,
            with_rows({.title = "If only the first bytes of a packet counted (key_bytes)",
                       .columns = {">bytes", ">copies cut short", ">no copies"}},
                      report.key_bytes, "length", [](const KeyBytes& one, std::size_t i) -> Row {
                          return {{format_count(one.bytes),
                                   figure(indexed("key_bytes", i, ".cut"), one.cut),
                                   harm(figure(indexed("key_bytes", i, ".others"), one.others))}};
                      }));
    }
    return out;
}

Section what_if_section(const Report& report) {
    Section out{.id = "what-if", .title = "What would this do here?", .wide = true};
    if (!report.what_if) {
        return out;
    }
    const WhatIf& it = *report.what_if;
    const Recommendation& wanted = report.recommendation;
    put(out.blocks, fmt::format("Asked for: {}. {}", configuration_text(it), it.verdict));
    if (it.forgotten != 0) {
        put(out.blocks,
            memory_was_full(fmt::format("{} {} forgotten inside the window",
                                        format_quantity(it.forgotten, "packet"),
                                        it.forgotten == 1 ? "was" : "were")),
            Tone::kWarning);
    }
    Table table{.columns = {"", ">asked for", ">recommended"}};
    const auto row = [&table](const char* name, Cell asked, Cell recommended) {
        table.rows.push_back({{name, std::move(asked), std::move(recommended)}});
    };
    row("key", packet::name_of(it.key), packet::name_of(wanted.key));
    row("window", window_text(it.window), format_duration(wanted.window));
    if (!it.tunnels.empty() || !wanted.tunnels.empty()) {
        row("tunnels", names_or_none(it.tunnels), names_or_none(wanted.tunnels));
        row("tenant", text_of(it.tenant), text_of(wanted.tenant));
    }
    if (it.tags != packet::Tags::kIgnore || wanted.tags != packet::Tags::kIgnore) {
        row("tags", text_of(it.tags), text_of(wanted.tags));
    }
    if (it.key_bytes || wanted.key_bytes) {
        const auto bytes = [](const std::optional<std::uint32_t>& one) {
            return one ? format_count(*one) : std::string("all");
        };
        row("key_bytes", bytes(it.key_bytes), bytes(wanted.key_bytes));
    }
    row("policy", text_of(it.policy), text_of(wanted.policy));
    row("non_ip", text_of(it.non_ip), text_of(wanted.non_ip));
    row("repeats", text_of(it.repeats), text_of(wanted.repeats));
    for (const RemovalRow& what : kRemovalRows) {
        const auto cell = [&](const Removal& side, const std::string& name) {
            Cell out = figure(fmt::format("what_if.{}.{}", name, what.name), side.*what.count);
            return what.harm ? harm(std::move(out)) : out;
        };
        table.rows.push_back(
            {{what.words, cell(it.asked, "asked"), cell(it.recommended, "recommended")}});
    }
    put(out.blocks, std::move(table));
    return out;
}

Section advice_section(const Report& report) {
    Section out{.id = "advice", .title = "What to configure", .wide = true};
    const Recommendation& wanted = report.recommendation;
    Facts why = reasons(report);
    if (why.facts.empty()) {
        return out;
    }
    if (!wanted.needed) {
        put(out.blocks, not_needed(report));
    }
    out.blocks.emplace_back(std::move(why));
    put(out.blocks,
        fmt::format(
            "Drops {}{}{}.", format_quantity(wanted.removed.packets, "packet"),
            report.copied.packets == 0 ? ""
                                       : fmt::format(", {} of the copies", percent(wanted.covered)),
            wanted.removed_cut.packets == 0
                ? ""
                : fmt::format(", and {} cut short", format_count(wanted.removed_cut.packets))));
    if (!wanted.toml.empty()) {
        out.blocks.emplace_back(
            Code{"toml", "", wanted.toml, option::kToml + " FILE writes this as a configuration."});
    }
    return out;
}

}  // namespace unecho::analyze
