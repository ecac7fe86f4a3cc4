// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/html_parts.h"
#include "analyze/html_sections.h"
#include "analyze/html_text.h"
#include "analyze/what_if.h"
#include "analyze/words.h"

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
        row({"Without IP", escape(text_of(it.non_ip)), escape(text_of(advice.non_ip))});
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
