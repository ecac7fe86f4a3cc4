// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <utility>

#include "analyze/html_parts.h"
#include "analyze/html_sections.h"
#include "analyze/html_text.h"
#include "analyze/what_if.h"
#include "analyze/words.h"

namespace unecho::analyze {
namespace {

using Part = std::pair<const char*, Count Removal::*>;

std::string count_row(const WhatIf& it, std::string_view name, const Part& part, bool harm) {
    const auto cell = [&](const Removal& side, const std::string& path) {
        const std::uint64_t packets = (side.*part.second).packets;
        return fill("<span{}>{}</span>",
                    {harm && packets != 0 ? " class=\"lost-text\"" : "",
                     figure("what_if." + path + "." + part.first + ".packets", packets)});
    };
    return row({escape(name), cell(it.asked, "asked"), cell(it.recommended, "recommended")});
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
        count_row(it, "Removes", {"removed", &Removal::removed}, false) +
        count_row(it, "of these copies", {"copies", &Removal::copies}, false) +
        count_row(it, "of these sent again", {"sent_again", &Removal::sent_again}, true) +
        count_row(it, "of these no copies", {"others", &Removal::others}, true) +
        count_row(it, "Copies left in", {"left", &Removal::left}, true);
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
