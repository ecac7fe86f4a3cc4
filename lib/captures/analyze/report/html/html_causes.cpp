// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <numeric>
#include <vector>

#include "captures/analyze/report/html/html_parts.h"
#include "captures/analyze/report/html/html_sections.h"
#include "captures/analyze/report/html/html_text.h"

namespace unecho::analyze {
namespace {

constexpr std::size_t kMaxProtocols = 12;
constexpr std::size_t kMaxInMatrix = 8;
constexpr std::size_t kMaxInTable = 16;

std::uint64_t copies_with_cause(const Report& report) {
    std::uint64_t sum = 0;
    for (const CauseCount& each : report.causes) {
        sum += each.copied.packets;
    }
    return sum;
}

std::string cause_rows(const Report& report) {
    const std::uint64_t all = copies_with_cause(report);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < report.causes.size(); ++i) {
        if (report.causes[i].copied.packets != 0) {
            order.push_back(i);
        }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return report.causes[a].copied.packets > report.causes[b].copied.packets;
    });
    std::string out;
    for (const std::size_t i : order) {
        const CauseCount& each = report.causes[i];
        const CauseInfo& info = info_of(each.cause);
        out += row(
            {fill("{}<span class=\"sub\">{}</span>{}", {escape(info.title), escape(info.sentence),
                                                        meter(share(each.copied.packets, all))}),
             figure("causes." + std::to_string(i) + ".copied.packets", each.copied.packets),
             share_text(each.copied.packets, all)});
    }
    return out;
}

std::string differences(const Report& report) {
    const std::uint64_t all = copies_with_cause(report);
    std::string body;
    for (std::size_t i = 0; i < report.differences.size(); ++i) {
        const DifferenceCount& each = report.differences[i];
        body += row({escape(info_of(each.difference).words),
                     figure("differences." + std::to_string(i) + ".copied", each.copied),
                     share_text(each.copied, all)});
    }
    return body.empty() ? body
                        : "<details><summary>What differs, each counted alone</summary>\n" +
                              table({"Difference", "Copies", "Share"}, body) + "</details>\n";
}

std::string look_alikes(const PayloadRetransmissions& given) {
    if (given.segments.packets == 0) {
        return "";
    }
    return fill(
        "<h3>Only alike</h3>\n<p>{} TCP {} the data of an earlier one in a new packet: "
        "retransmissions. They are no echoes, and are not removed.</p>\n",
        {figure("look_alikes.segments.packets", given.segments.packets),
         given.segments.packets == 1 ? "segment carries" : "segments carry"});
}

std::string loops(const Report& report) {
    std::string body;
    const std::size_t shown = std::min(report.loops.size(), kMaxInTable);
    for (std::size_t i = 0; i < shown; ++i) {
        const Loop& each = report.loops[i];
        const std::string path = "loops." + std::to_string(i);
        body += row({each.one.empty() ? "no MAC addresses"
                                      : fill("<code>{}</code> <code>{}</code>",
                                             {escape(each.one), escape(each.other)}),
                     figure(path + ".packets", each.packets),
                     figure(path + ".copies.packets", each.copies.packets),
                     std::to_string(each.step), duration_text(each.round)});
    }
    return body.empty()
               ? body
               : "<h3>Routing loops</h3>\n" +
                     paragraph(
                         "Packets that come by the same link again, the TTL lower each time. "
                         "Between which addresses:") +
                     table({"Link", "Packets", "Copies", "TTL falls by", "Round"}, body) +
                     others(report.loops.size() - shown, "fewer copies");
}

// ---- places -------------------------------------------------------------------------------------

std::uint64_t echoes_between(const Report& report, std::size_t from, std::size_t to) {
    for (const Crossing& each : report.crossings) {
        if (each.original == from && each.echo == to) {
            return each.echoes.packets;
        }
    }
    return 0;
}

// Return the interfaces with most echoes in this role, in their own order; none without any.
std::vector<std::size_t> shown_places(const Report& report, std::uint32_t Crossing::*role) {
    std::vector<std::uint64_t> weight(report.interfaces.size());
    for (const Crossing& each : report.crossings) {
        if (each.*role < weight.size()) {
            weight[each.*role] += each.echoes.packets;
        }
    }
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < weight.size(); ++i) {
        if (weight[i] != 0) {
            order.push_back(i);
        }
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });
    order.resize(std::min(order.size(), kMaxInMatrix));
    std::sort(order.begin(), order.end());
    return order;
}

// Return the echoes that no cell of the matrix shows.
std::uint64_t outside(const Report& report, const std::vector<std::size_t>& rows,
                      const std::vector<std::size_t>& columns) {
    std::uint64_t sum = 0;
    for (const Crossing& each : report.crossings) {
        const bool shown = std::binary_search(rows.begin(), rows.end(), each.original) &&
                           std::binary_search(columns.begin(), columns.end(), each.echo);
        sum += shown ? 0 : each.echoes.packets;
    }
    return sum;
}

std::string cell(std::uint64_t echoes, std::uint64_t most) {
    return echoes == 0 ? "<td class=\"none\">0</td>"
                       : fill("<td style=\"--s:{}\">{}</td>",
                              {coordinate(share(echoes, most)), count_text(echoes)});
}

// Return "3 eth2"; narrow columns have the number alone.
std::string numbered(const Report& report, std::size_t place) {
    return fill("<span class=\"place\"><span class=\"muted\">{}</span> {}</span>",
                {std::to_string(place + 1), escape(report.interfaces[place].name)});
}

std::string matrix(const Report& report) {
    const auto rows = shown_places(report, &Crossing::original);
    const auto columns = shown_places(report, &Crossing::echo);
    std::uint64_t most = 0;
    for (const Crossing& each : report.crossings) {
        most = std::max(most, each.echoes.packets);
    }
    std::string out =
        "<figure><figcaption>Rows: where a packet was captured first. Columns: where its echoes "
        "were.</figcaption>\n<div class=\"scroll\"><table class=\"matrix\">\n<thead><tr><td></td>";
    for (const std::size_t to : columns) {
        out += "<th scope=\"col\">" + std::to_string(to + 1) + "</th>";
    }
    out += "</tr></thead>\n<tbody>\n";
    for (const std::size_t from : rows) {
        out += "<tr><th scope=\"row\">" + numbered(report, from) + "</th>";
        for (const std::size_t to : columns) {
            out += cell(echoes_between(report, from, to), most);
        }
        out += "</tr>\n";
    }
    const std::uint64_t rest = outside(report, rows, columns);
    return out + "</tbody></table></div></figure>\n" +
           (rest == 0 ? ""
                      : fill("<p class=\"small\">And {} between other interfaces.</p>\n",
                             {rest == 1 ? "1 echo" : count_text(rest) + " echoes"}));
}

std::string interface_table(const Report& report) {
    std::string body;
    const auto places = order_by_echoes(report.interfaces);
    const std::size_t shown = std::min(places.size(), kMaxInTable);
    for (std::size_t place = 0; place < shown; ++place) {
        const std::size_t i = places[place];
        const InterfaceInfo& each = report.interfaces[i];
        const std::string path = "interfaces." + std::to_string(i);
        body += row(
            {fill("{}<span class=\"sub\">{}</span>", {numbered(report, i), escape(each.link_name)}),
             figure(path + ".total.packets", each.total.packets),
             figure(path + ".copied.packets", each.copied.packets),
             share_text(each.copied.packets, each.total.packets)});
    }
    return table({"Interface", "Packets", "Copies", "Share"}, body) +
           others(count_hidden_interfaces(report, places, shown), "fewer copies") +
           others(report.interfaces.size() - places.size(), "no packets");
}

std::string places_words(const Report& report) {
    std::uint64_t same = 0;
    for (const Crossing& each : report.crossings) {
        same += each.original == each.echo ? each.echoes.packets : 0;
    }
    if (same == report.echoes.packets) {
        return "Every echo came from the interface that its packet came from.";
    }
    return same == 0
               ? "Every echo came from another interface than its packet."
               : fill("{} of the echoes came from another interface than their packets.",
                      {share_text(report.echoes.packets - std::min(same, report.echoes.packets),
                                  report.echoes.packets)});
}

}  // namespace

std::string causes_section(const Report& report) {
    if (copies_with_cause(report) == 0) {
        return "";
    }
    return section("causes", "Why are they there?",
                   paragraph("What differs between a copy and the first packet with its key.") +
                       table({"Cause", "Copies", "Share"}, cause_rows(report)) +
                       differences(report) + loops(report) + look_alikes(report.look_alikes));
}

std::string places_section(const Report& report) {
    if (report.interfaces.size() < 2) {
        return "";
    }
    const bool echoes = report.echoes.packets != 0;
    return section("places", echoes ? "From where to where?" : "Where?",
                   (echoes ? paragraph(places_words(report)) + matrix(report) + both(report) : "") +
                       interface_table(report));
}

std::string protocols_section(const Report& report) {
    if (report.protocols.empty()) {
        return "";
    }
    std::string body;
    const std::size_t shown = std::min(report.protocols.size(), kMaxProtocols);
    for (std::size_t i = 0; i < shown; ++i) {
        const ProtocolCount& each = report.protocols[i];
        const std::string path = "protocols." + std::to_string(i);
        body +=
            row({escape(each.name) + (report.echoes.packets == 0
                                          ? ""
                                          : meter(share(each.copied.packets, each.total.packets))),
                 figure(path + ".total.packets", each.total.packets),
                 figure(path + ".copied.packets", each.copied.packets),
                 share_text(each.copied.packets, each.total.packets)});
    }
    return section("protocols", "Which protocols?",
                   table({"Protocol", "Packets", "Copies", "Share"}, body) +
                       others(report.protocols.size() - shown, "fewer packets"));
}

}  // namespace unecho::analyze
