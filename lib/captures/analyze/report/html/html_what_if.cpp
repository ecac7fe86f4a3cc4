// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/recommend/what_if.h"
#include "captures/analyze/report/html/html_parts.h"
#include "captures/analyze/report/html/html_sections.h"
#include "captures/analyze/report/html/html_text.h"
#include "captures/analyze/report/text_format.h"

namespace unecho::analyze {
namespace {

std::string count_row(const WhatIf& it, const RemovalRow& what) {
    const auto cell = [&](const Removal& side, const std::string& path) {
        const std::uint64_t packets = (side.*what.count).packets;
        return fill(
            "<span{}>{}</span>",
            {what.harm && packets != 0 ? " class=\"lost-text\"" : "",
             figure("what_if." + path + "." + std::string(what.name) + ".packets", packets)});
    };
    return row({escape(what.page), cell(it.asked, "asked"), cell(it.recommended, "recommended")});
}

}  // namespace

std::string what_if_section(const Report& report) {
    if (!report.what_if || report.total.packets == 0) {
        return "";
    }
    const WhatIf& it = *report.what_if;
    const Recommendation& advice = report.recommendation;
    std::string rows =
        row({"Key", escape(packet::name_of(it.key)), escape(packet::name_of(advice.key))}) +
        row({"Window", it.window ? duration_text(*it.window) : "no end",
             duration_text(advice.window)}) +
        row({"Policy", escape(text_of(it.policy)), escape(text_of(advice.policy))}) +
        row({"Without IP", escape(text_of(it.non_ip)), escape(text_of(advice.non_ip))}) +
        row({"Repeats", escape(text_of(it.repeats)), escape(text_of(advice.repeats))});
    if (!it.tunnels.empty() || !advice.tunnels.empty()) {
        const auto names = [](const std::vector<std::string>& list) {
            return escape(list.empty() ? "none" : joined(list, ", "));
        };
        rows += row({"Tunnels", names(it.tunnels), names(advice.tunnels)}) +
                row({"Tenant", escape(text_of(it.tenant)), escape(text_of(advice.tenant))});
    }
    if (it.key_bytes || advice.key_bytes) {
        const auto bytes = [](const std::optional<std::uint32_t>& one) {
            return one ? count_text(*one) : std::string("all");
        };
        rows += row({"Key bytes", bytes(it.key_bytes), bytes(advice.key_bytes)});
    }
    for (const RemovalRow& what : kRemovalRows) {
        rows += count_row(it, what);
    }
    std::string forgot;
    if (it.forgotten != 0) {
        forgot =
            fill("<p class=\"warning\">Memory was full: {} {} forgotten inside the window.</p>\n",
                 {count_text(it.forgotten, "packet"), it.forgotten == 1 ? "was" : "were"});
    }
    return section(
        "what-if", "What would this do here?",
        paragraph(fill("Asked for: {}. {}", {escape(configuration_text(it)), escape(it.verdict)})) +
            forgot + table({"", "Asked for", "Recommended"}, rows));
}

}  // namespace unecho::analyze
