// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "captures/analyze/report/html/html_parts.h"
#include "captures/analyze/report/html/html_sections.h"
#include "captures/analyze/report/html/html_text.h"
#include "captures/analyze/report/text_format.h"
#include "captures/standard_streams.h"
#include "packets/keys/key.h"

namespace unecho::analyze {
namespace {

constexpr std::size_t kMaxNotesInPage = 50;

std::uint64_t most_dropped(const Report& report) {
    std::uint64_t most = 1;
    for (const Mode& mode : report.modes) {
        most = std::max(most, mode.recommended.dropped.packets);
    }
    return most;
}

std::string mode_row(const Mode& mode, std::size_t i, std::uint64_t most) {
    const ModeRow& at = mode.recommended;
    const std::string path = "modes." + std::to_string(i) + ".recommended";
    const std::uint64_t right = at.dropped.packets - std::min(at.lost.packets, at.dropped.packets);
    return row(
        {fill("<code>{}</code>{}", {escape(packet::name_of(mode.key)),
                                    meter(share(right, most), share(at.lost.packets, most))}),
         figure(path + ".dropped.packets", at.dropped.packets),
         fill("<span{}>{}</span>", {at.lost.packets == 0 ? "" : " class=\"lost-text\"",
                                    figure(path + ".lost.packets", at.lost.packets)}),
         figure(path + ".missed.packets", at.missed.packets)});
}

std::string mode_warning(const Report& report) {
    const Mode* worst = nullptr;
    for (const Mode& mode : report.modes) {
        if (mode.recommended.lost.packets > (worst ? worst->recommended.lost.packets : 0)) {
            worst = &mode;
        }
    }
    return worst == nullptr
               ? std::string()
               : fill(
                     "<p class=\"warning\">Key <code>{}</code> would drop {} that {} no {}: {} of "
                     "all packets would be lost.</p>\n",
                     {escape(packet::name_of(worst->key)),
                      count_text(worst->recommended.lost.packets, "packet"),
                      worst->recommended.lost.packets == 1 ? "is" : "are",
                      worst->recommended.lost.packets == 1 ? "copy" : "copies",
                      share_text(worst->recommended.lost.packets, report.total.packets)});
}

std::string reason(std::string_view name, const std::string& value, const std::string& why) {
    return fill("<dt>{}<span class=\"sub\">{}</span></dt><dd>{}</dd>\n",
                {escape(name), value, escape(why)});
}

std::string reasons(const Recommendation& advice) {
    std::string out = reason("Key", escape(packet::name_of(advice.key)), advice.key_reason) +
                      reason("Window", duration_text(advice.window), advice.window_reason) +
                      reason("Rate", packet_rate_text(advice.rate), advice.rate_reason) +
                      reason("Policy", escape(text_of(advice.policy)), advice.policy_reason);
    if (!advice.non_ip_reason.empty()) {
        out += reason("Without IP", escape(text_of(advice.non_ip)), advice.non_ip_reason);
    }
    if (!advice.repeats_reason.empty()) {
        out += reason("Repeats", escape(text_of(advice.repeats)), advice.repeats_reason);
    }
    if (!advice.tunnels_reason.empty()) {
        out += reason("Tunnels",
                      escape(advice.tunnels.empty() ? "none" : joined(advice.tunnels, ", ")),
                      advice.tunnels_reason);
    }
    if (!advice.tenant_reason.empty()) {
        out += reason("Tenant", escape(text_of(advice.tenant)), advice.tenant_reason);
    }
    if (!advice.key_bytes_reason.empty()) {
        out += reason("Key bytes", advice.key_bytes ? count_text(*advice.key_bytes) : "not set",
                      advice.key_bytes_reason);
    }
    if (!advice.sure_reason.empty()) {
        out += reason("How sure", "", advice.sure_reason);
    }
    if (!advice.taps_reason.empty()) {
        out += reason("Taps", "", advice.taps_reason);
    }
    if (advice.memory != 0) {
        out += reason("Engine", escape(advice.engine_chosen),
                      "Takes " + bytes_text(advice.memory) + " with these figures.");
    }
    return "<dl class=\"reasons\">\n" + out + "</dl>\n";
}

std::string where_of(const Note& note) {
    std::string where = escape(capture::input_display_name(note.file));
    if (note.number != 0) {
        where += (where.empty() ? "packet " : ", packet ") + count_text(note.number);
    }
    return where.empty() ? where : where + ": ";
}

}  // namespace

std::string modes_section(const Report& report) {
    if (report.keyed.packets == 0) {
        return "";
    }
    std::string body;
    for (std::size_t i = 0; i < report.modes.size(); ++i) {
        body += mode_row(report.modes[i], i, most_dropped(report));
    }
    const std::optional<Nanoseconds> window = report.modes.front().recommended.window;
    std::string bytes;
    for (std::size_t i = 0; any_key_bytes(report) && i < report.key_bytes.size(); ++i) {
        const KeyBytes& each = report.key_bytes[i];
        const std::string path = "key_bytes." + std::to_string(i);
        bytes += row(
            {count_text(each.bytes) + " bytes", figure(path + ".cut.packets", each.cut.packets),
             fill("<span{}>{}</span>", {each.others.packets == 0 ? "" : " class=\"lost-text\"",
                                        figure(path + ".others.packets", each.others.packets)})});
    }
    if (!bytes.empty()) {
        bytes = "<h3>If only the first bytes counted</h3>\n" +
                table({"Of a packet", "Copies cut short", "No copies"}, bytes);
    }
    return section(
        "modes", "Which key?",
        paragraph(fill("What each key mode would drop {}, copies or not. Too many: those that key "
                       "<code>packet</code> would forward. Missing: those that it alone would "
                       "drop.",
                       {window ? "within " + duration_text(*window) : "however old"})) +
            mode_warning(report) + table({"Key", "Drops", "Too many", "Missing"}, body) + bytes);
}

std::string advice_section(const Report& report) {
    const Recommendation& advice = report.recommendation;
    if (advice.toml.empty() && advice.window_reason.empty()) {
        return "";
    }
    std::string out = advice.needed ? ""
                      : report.not_compared.empty()
                          ? paragraph("There is nothing worth removing.")
                          : paragraph("Nothing is to be removed of what could be compared.");
    out += reasons(advice);
    if (!advice.toml.empty()) {
        out += fill(
            "<div class=\"code\"><button type=\"button\" data-copy=\"toml\" hidden>Copy"
            "</button><pre id=\"toml\" tabindex=\"0\"><code>{}</code></pre></div>\n",
            {escape(advice.toml)});
    }
    return section("advice", "What to configure", out);
}

std::string warnings_section(const Report& report) {
    if (report.warnings.empty()) {
        return "";
    }
    std::string items;
    const std::vector<Note> notes = merge_equal_notes(report.warnings);
    const std::size_t shown = std::min(notes.size(), kMaxNotesInPage);
    for (std::size_t i = 0; i < shown; ++i) {
        const Note& note = notes[i];
        items += fill("<li>{}{}{}</li>\n",
                      {where_of(note), escape(note.text),
                       note.times > 1 ? " (" + count_text(note.times, "time") + ")" : ""});
    }
    return section("warnings", "Warnings",
                   "<ul>\n" + items + "</ul>\n" + others(notes.size() - shown, "other words"));
}

}  // namespace unecho::analyze
