// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string_view>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/option_names.h"
#include "base/utf8.h"
#include "captures/analyze/classify/not_compared.h"
#include "captures/analyze/recommend/what_if.h"
#include "captures/analyze/report/report_text.h"
#include "captures/analyze/report/report_view.h"
#include "captures/analyze/report/text_format.h"

namespace unecho::analyze {
namespace {

constexpr std::size_t kFewFiles = 4;
constexpr std::size_t kFewKinds = 3;
constexpr std::size_t kFewNotes = 4;
constexpr std::size_t kFewNotCompared = 3;
constexpr std::size_t kScreenColumns = 80;
constexpr std::size_t kScreenRows = 24;

std::string lines(std::string_view text, std::string_view indent = "") {
    return wrapped(text, indent, kScreenColumns);
}

// Return how many rows a text takes. A terminal breaks lines that are longer than it is wide.
std::size_t rows_of(std::string_view text) {
    std::size_t rows = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        rows += std::max<std::size_t>(1, (end + kScreenColumns - 1) / kScreenColumns);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return rows;
}

std::string why(const Report& report) {
    std::vector<CauseCount> causes = report.causes;
    std::stable_sort(causes.begin(), causes.end(), [](const auto& a, const auto& b) {
        return a.copied.packets > b.copied.packets;
    });
    std::string out;
    for (std::size_t i = 0; i < std::min(causes.size(), kFewKinds); ++i) {
        if (causes[i].copied.packets != 0) {
            out += (out.empty() ? "" : ", ") + format_count(causes[i].copied.packets) + " " +
                   std::string(name_of(causes[i].cause)) + " (" +
                   std::string(info_of(causes[i].cause).meaning) + ")";
        }
    }
    if (out.empty()) {
        return "";
    }
    const std::string youngest = brief_duration(report.ages.youngest);
    const std::string oldest = brief_duration(report.ages.oldest);
    return lines(fmt::format("{}; {}{} behind the packet before.", out, youngest,
                             youngest == oldest ? "" : " to " + oldest),
                 "  ");
}

// Report packets without IP, unless what_was_not_compared() does so.
std::string without_ip(const Report& report) {
    std::string out;
    const bool said = std::any_of(
        report.not_compared.begin(), report.not_compared.end(), [&](const NotCompared& one) {
            return (one.what == "link_type" || one.what == "ether_type") &&
                   one.packets == report.non_ip.packets;
        });
    if (report.non_ip.packets != 0 && !said) {
        out = lines(fmt::format("Without an IP packet: {}{}, compared as whole frames.",
                                format_count(report.non_ip.packets),
                                report.non_ip_types.empty()
                                    ? ""
                                    : fmt::format(" ({})", engines::text_of(report.non_ip_types))));
    }
    if (report.malformed.packets != 0 && !is_not_compared(report, "malformed")) {
        out += lines(fmt::format("Malformed, and not compared: {}.",
                                 format_count(report.malformed.packets)));
    }
    const std::uint64_t closed = report.tunnels
                                     ? report.tunnels->other + report.tunnels->too_deep +
                                           report.tunnels->fragments + report.tunnels->malformed
                                     : 0;
    return out + (closed == 0 || is_not_compared(report, "tunnel")
                      ? ""
                      : lines(fmt::format("In tunnels that were not opened to their end: {}.",
                                          format_count(closed))));
}

std::string what_was_not_compared(const Report& report) {
    std::string out;
    for (std::size_t i = 0; i < std::min(report.not_compared.size(), kFewNotCompared); ++i) {
        out += lines(printable(text_of(report.not_compared[i])));
    }
    return out;
}

// Return as many notes as the screen has room for.
std::string remarks(const Report& report, std::size_t rows) {
    std::string out;
    std::size_t shown = 0;
    std::vector<Note> notes = merge_equal_notes(report.warnings);
    notes.erase(std::remove_if(notes.begin(), notes.end(),
                               [&](const Note& one) { return is_redundant(report, one); }),
                notes.end());
    for (; shown < std::min(notes.size(), kFewNotes); ++shown) {
        const std::string next = lines("Note: " + printable(text_of(notes[shown])));
        if (rows_of(out + next) + (shown + 1 < notes.size() ? 1 : 0) > rows) {
            break;
        }
        out += next;
    }
    return out + (notes.size() > shown
                      ? fmt::format("and {}\n", format_quantity(notes.size() - shown, "more note"))
                      : "");
}

// Return the command that removes the copies, or those that align the clocks of two taps: nothing
// can be removed before that.
std::string removal(const Report& report) {
    if (report.recommendation.needed) {
        return fmt::format("{}:  {}\n", remedy(report).purpose, remove_command(report, kFewFiles));
    }
    const std::string shift = shift_command(report);
    return shift.empty() ? ""
                         : "First:        " + shift +
                               "\n"
                               "Then:         unecho analyze with shifted.pcap in its place\n";
}

// Return the answer for the configuration that was asked for; -v compares it with the recommended
// one.
std::string answer_to_question(const Report& report) {
    if (!report.what_if) {
        return "";
    }
    const WhatIf& it = *report.what_if;
    const Removal& asked = it.asked;
    std::string out = fmt::format("Asked for {}: ", configuration_text(it));
    if (asked.removed.packets == 0) {
        out += "no packet here is an echo by that. ";
    } else {
        out +=
            fmt::format("that would remove {} ({}, {} sent again, {} no copies). ",
                        format_quantity(asked.removed.packets, "packet"),
                        format_quantity(asked.copies.packets, "copied packet"),
                        format_count(asked.sent_again.packets), format_count(asked.others.packets));
    }
    return lines(printable(out + it.verdict));
}

// Return how many copies there are, why, and how certain that is.
std::string judgement(const Report& report) {
    const std::string out = headline(report) + "\n";
    if (any_not_compared(report, NotComparedEffect::kUnknown)) {
        return out;
    }
    return out + lines(copies_cut_sentence(report)) + why(report) +
           lines(sent_again_sentence(report)) + lines(report.recommendation.sure_reason) +
           (is_not_compared(report, "clocks") ? "No window removes them before the clocks agree.\n"
                                              : "");
}

}  // namespace

std::string remove_command(const Report& report, std::size_t most_files) {
    const bool many = report.files.size() > most_files;
    std::string out = many ? "unecho pcap IN..." : "unecho pcap";
    for (std::size_t i = 0; !many && i < report.files.size(); ++i) {
        // A path that a terminal does not show as it is cannot be copied from it.
        const std::string& path = report.files[i].path;
        out += " " + (printable(path) == path ? shell_word(path) : "IN");
    }
    return fmt::format("{} -o clean.pcap {}", out, report.recommendation.pcap_options);
}

std::string to_summary_text(const Report& report) {
    const std::string begin = lines(printable(opening(report)));
    if (report.total.packets == 0) {
        return begin + headline(report) + "\n";
    }
    const std::string head = begin + what_was_not_compared(report) + without_ip(report);
    const std::string rest = fmt::format(
        "\n{}{}\n"
        "{}More:         -v prints the whole report, {} report.html draws it\n",
        judgement(report), answer_to_question(report), removal(report), option::kHtml);
    const std::size_t taken = rows_of(head) + rows_of(rest);
    return head + remarks(report, kScreenRows - std::min(kScreenRows, taken)) + rest;
}

}  // namespace unecho::analyze
