// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/join_text.h"
#include "captures/analyze/report/text_format.h"
#include "captures/analyze/report/view/view_parts.h"
#include "captures/analyze/report/view/view_sections.h"

namespace unecho::analyze {
namespace {

// "every 10 s, about", "330 us to 2.4 s"
std::string rhythm(const SentAgain& one) {
    const std::string first = brief_duration(one.youngest);
    const std::string last = brief_duration(one.oldest);
    return one.regular     ? fmt::format("every {}, about", brief_duration(one.period))
           : first == last ? last
                           : fmt::format("{} to {}", first, last);
}

// Return why packets were not opened, or not to their end.
std::string not_opened(const TunnelReport& tunnels) {
    std::string out;
    const auto say = [&](std::uint64_t packets, const char* what) {
        if (packets != 0) {
            out += fmt::format("{}{} {}", out.empty() ? "" : ", ", format_count(packets), what);
        }
    };
    say(tunnels.fragments, "fragments of a tunnel's packets");
    say(tunnels.malformed, "cut short or malformed");
    say(tunnels.other, "without IP inside");
    say(tunnels.too_deep, "in more than 8 tunnels");
    return out.empty() ? "" : fmt::format("Not opened to their end: {}.", out);
}

}  // namespace

Section causes_section(const Report& report) {
    Section out{"causes", "Why are they there?"};
    std::uint64_t copies = 0;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < report.causes.size(); ++i) {
        copies += report.causes[i].copied.packets;
        if (report.causes[i].copied.packets != 0) {
            order.push_back(i);
        }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return report.causes[a].copied.packets > report.causes[b].copied.packets;
    });
    if (copies != 0) {
        put(out.blocks, "What differs between a copy and the first packet with its key.");
    }
    Table causes{.columns = {"reason", ">copies", ">share"}, .notes = "what it is"};
    for (const std::size_t i : order) {
        const CauseCount& one = report.causes[i];
        const CauseInfo& info = info_of(one.cause);
        causes.rows.push_back({{info.name, figure(indexed("causes", i, ".copied"), one.copied),
                                share_text(one.copied.packets, copies)},
                               std::string(info.meaning) + (info.origin.empty() ? "" : ": ") +
                                   std::string(info.origin),
                               {share(one.copied.packets, copies), 0}});
    }
    put(out.blocks, std::move(causes));
    Table differences{.title = "What differs, each counted alone",
                      .columns = {"difference", ">copies", ">share"},
                      .folded = true};
    for (std::size_t i = 0; i < report.differences.size(); ++i) {
        const DifferenceCount& one = report.differences[i];
        if (one.copied != 0) {
            differences.rows.push_back({{info_of(one.difference).words,
                                         figure(indexed("differences", i, ".copied"), one.copied),
                                         share_text(one.copied, copies)}});
        }
    }
    put(out.blocks, std::move(differences));
    put(out.blocks,
        with_rows(
            {.title = "Routing loops: packets that come round again with a lower TTL",
             .columns = {"on the link between", ">packets", ">copies", ">TTL falls by", ">round"}},
            report.loops, "link", [](const Loop& one, std::size_t i) -> Row {
                return {{one.one.empty() ? "no MAC addresses" : one.one + " " + one.other,
                         figure(indexed("loops", i, ".packets"), one.packets),
                         figure(indexed("loops", i, ".copies"), one.copies),
                         std::to_string(one.step), brief_duration(one.round)}};
            }));
    return out;
}

Section repeats_section(const Report& report) {
    Section out{"repeats", "What was sent again?"};
    if (!report.kinds_sent_again.empty()) {
        put(out.blocks, "Equal packets that their senders sent again: they are no copies.");
    }
    put(out.blocks,
        with_rows({.columns = {"protocol", ">packets", "after"}}, report.kinds_sent_again,
                  "protocol", [](const SentAgain& one, std::size_t i) -> Row {
                      return {{one.protocol, figure(indexed("repeats", i, ".echoes"), one.echoes),
                               rhythm(one)}};
                  }));
    const PayloadRetransmissions& alike = report.look_alikes;
    if (alike.segments.packets != 0) {
        const bool one = alike.segments.packets == 1;
        put(out.blocks,
            fmt::format("{} of {} only {}: {} the data of an earlier one in a new packet. "
                        "Retransmissions of this kind are no echoes, and are not removed.",
                        format_count(alike.segments.packets),
                        format_quantity(alike.compared, "TCP segment"),
                        one ? "looks like a copy" : "look like copies",
                        one ? "it carries" : "each carries"));
    }
    return out;
}

Section tunnels_section(const Report& report) {
    Section out{"tunnels", "In which tunnels?"};
    if (!report.tunnels) {
        return out;
    }
    const TunnelReport& all = *report.tunnels;
    if (all.opened.packets != 0) {
        put(out.blocks,
            fmt::format(
                "{} of the packets {} inside a tunnel; {} {} found only by looking into it.",
                share_text(all.opened.packets, report.total.packets),
                all.opened.packets == 1 ? "is" : "are",
                format_quantity(all.needing.packets, "copy"),
                all.needing.packets == 1 ? "is" : "are"));
    }
    put(out.blocks, not_opened(all));
    put(out.blocks,
        with_rows({.columns = {"inside, the outermost first", ">packets", ">bytes", ">share"}},
                  all.stacks, "nesting", [&](const TunnelStack& one, std::size_t i) -> Row {
                      return {{one.names.empty() ? "others" : join_text(one.names, " > "),
                               figure(indexed("tunnels.stacks", i, ".total"), one.total),
                               brief_size(one.total.bytes),
                               share_text(one.total.packets, report.total.packets)},
                              "",
                              {share(one.total.packets, report.total.packets), 0}};
                  }));
    Table copies{.columns = {"copies inside tunnels", ">copies"}};
    for (std::size_t i = 0; i < all.meetings.size(); ++i) {
        const TunnelRelationCount& one = all.meetings[i];
        if (one.copied.packets != 0) {
            copies.rows.push_back(
                {{info_of(one.meeting).words,
                  figure(indexed("tunnels.meetings", i, ".copied"), one.copied)}});
        }
    }
    put(out.blocks, std::move(copies));
    put(out.blocks,
        with_rows({.columns = {"tenant", ">packets", ">bytes"}}, all.tenants, "tenant",
                  [](const TunnelTenant& one, std::size_t i) -> Row {
                      return {{fmt::format("{} {}", one.kind, one.number),
                               figure(indexed("tunnels.tenants", i, ".packets"), one.packets),
                               brief_size(one.bytes)},
                              one.excess == 0
                                  ? ""
                                  : "at least " + format_count(one.packets - one.excess)};
                  }));
    return out;
}

}  // namespace unecho::analyze
