// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/report_view.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/humanize.h"
#include "captures/analyze/classify/not_compared.h"
#include "captures/analyze/report/charts.h"
#include "captures/analyze/report/report_text.h"
#include "captures/analyze/report/text_format.h"
#include "captures/analyze/report/view/view_parts.h"
#include "captures/analyze/report/view/view_sections.h"
#include "captures/standard_streams.h"
#include "captures/view/html/page.h"
#include "captures/view/text.h"

namespace unecho::analyze {
namespace {

constexpr std::size_t kMaxNotes = 20;
constexpr std::size_t kMaxKinds = 3;  // of packets that were sent again, in a sentence
constexpr std::size_t kMaxFiles = 4;  // in a command on one line

std::string title_of(const Report& report) {
    if (report.files.empty()) {
        return "Echoes";
    }
    return fmt::format("Echoes in {}{}", capture::input_display_name(report.files.front().path),
                       report.files.size() == 1
                           ? ""
                           : fmt::format(" and {} more", format_count(report.files.size() - 1)));
}

std::string each_came_once(const Report& report) {
    return report.total.packets < 2    ? ""
           : report.keyed.packets == 0 ? "None of the packets has a key to compare."
           : report.keyed.packets == 1
               ? "Only one of the packets has a key to compare."
               : fmt::format("Each of the {} that have a key came once.",
                             format_quantity(report.keyed.packets, "packet"));
}

std::string lead(const Report& report) {
    if (any_not_compared(report, NotComparedEffect::kUnknown)) {
        return "";
    }
    std::string out;
    const auto say = [&out](const std::string& sentence) {
        out += (out.empty() || sentence.empty() ? "" : " ") + sentence;
    };
    if (report.copied.packets != 0) {
        say(report.ages.oldest == 0
                ? "All copies were captured at the same time as their packets."
                : fmt::format("Half of the copies follow within {}, the last after {}.",
                              brief_duration(report.ages.p50), brief_duration(report.ages.oldest)));
        if (!report.recommendation.needed) {
            say(is_not_compared(report, "clocks")
                    ? "No window removes them before the clocks agree."
                    : "There is nothing worth removing.");
        }
    }
    say(copies_cut_sentence(report));
    say(sent_again_sentence(report));
    return out.empty() ? each_came_once(report) : out;
}

Facts key_figures(const Report& report) {
    const Recommendation& wanted = report.recommendation;
    Facts out{Facts::Look::kTiles};
    if (report.copied.packets == 0 || any_not_compared(report, NotComparedEffect::kUnknown)) {
        return out;
    }
    out.facts.push_back(
        {"copies", figure("copied", report.copied),
         fmt::format("{} of {}", share_text(report.copied.packets, report.total.packets),
                     format_quantity(report.total.packets, "packet"))});
    out.facts.push_back(
        {"what they cost", size_figure("copied.bytes", report.copied.bytes),
         fmt::format("{} of {} on the wire", share_text(report.copied.bytes, report.total.bytes),
                     brief_size(report.total.bytes))});
    if (wanted.needed) {
        out.facts.push_back({"recommended window",
                             age_figure("recommendation.window_ns", wanted.window),
                             fmt::format("key {}, removes {} of the copies",
                                         packet::name_of(wanted.key), percent(wanted.covered))});
    }
    return out;
}

// A reader has to know this before believing the numbers.
void put_doubts(std::vector<Block>& blocks, const Report& report) {
    if (report.blind_after) {
        put(blocks,
            memory_was_full(fmt::format("echoes older than {} may have been overlooked",
                                        brief_duration(*report.blind_after))),
            Tone::kWarning);
    }
    if (report.others_blind_after && *report.others_blind_after < report.recommendation.window) {
        put(blocks,
            memory_was_full("what other keys drop, and look-alikes, may be short of those older "
                            "than " +
                            brief_duration(*report.others_blind_after)),
            Tone::kWarning);
    }
    if (!report.warnings.empty()) {
        const std::size_t count = merge_equal_notes(report.warnings).size();
        put(blocks,
            fmt::format("{} about the capture {} listed at the end.",
                        format_quantity(count, "warning"), count == 1 ? "is" : "are"),
            Tone::kWarning);
    }
}

std::vector<Block> answer(const Report& report) {
    std::vector<Block> out;
    if (const Remedy what = remedy(report); !what.command.empty()) {
        const bool many = report.files.size() > kMaxFiles;
        out.emplace_back(Code{"remove", what.purpose, what.command,
                              many ? remove_command(report, kMaxFiles) : ""});
    }
    put(out, lead(report), Tone::kLead);
    if (Facts figures = key_figures(report); !figures.facts.empty()) {
        out.emplace_back(std::move(figures));
    }
    put_doubts(out, report);
    return out;
}

Section warnings_section(const Report& report) {
    Section out{.id = "warnings", .title = "Warnings", .wide = true};
    List list;
    for (const Note& note : merge_equal_notes(report.warnings)) {
        list.items.push_back(text_of(note) +
                             (note.times == 1 ? "" : " (" + format_count(note.times) + " times)"));
    }
    if (list.items.size() > kMaxNotes) {
        list.rest = "and " + format_quantity(list.items.size() - kMaxNotes, "more warning");
        list.items.resize(kMaxNotes);
    }
    if (!list.items.empty()) {
        out.blocks.emplace_back(std::move(list));
    }
    return out;
}

}  // namespace

std::string opening(const Report& report) {
    const std::string first =
        report.files.empty() ? "" : capture::input_display_name(report.files.front().path);
    return (report.files.size() < 2
                ? first
                : fmt::format("{}, {} to {}", format_quantity(report.files.size(), "input"), first,
                              capture::input_display_name(report.files.back().path))) +
           ": " + format_quantity(report.total.packets, "packet") + ", " +
           traffic(report.total.bytes, report.captured) + ", " + brief_duration(report.duration);
}

std::string headline(const Report& report) {
    if (report.total.packets == 0) {
        return fmt::format("There are no packets in {}.", report.files.size() > 1 ? "them" : "it");
    }
    if (report.total.packets == 1) {
        return "A single packet, so no copies.";
    }
    if (std::string none = no_verdict(report); !none.empty()) {
        return none;
    }
    const bool only_cut = report.copied.packets == 0;
    const std::uint64_t copies =
        only_cut ? copies_cut_short(report).packets : report.copied.packets;
    return copies == 0
               ? "No copies."
               : fmt::format("{} of the packets are copies{} {}.",
                             share_text(copies, report.total.packets),
                             only_cut ? ", cut at another length:" : ":", format_count(copies));
}

std::string copies_cut_sentence(const Report& report) {
    const std::uint64_t cut = copies_cut_short(report).packets;
    return cut == 0 ? ""
           : report.copied.packets == 0
               ? "Each is of a packet that was captured longer or shorter."
               : fmt::format("{} {} of one that was captured longer or shorter.",
                             format_quantity(cut, "packet"),
                             cut == 1 ? "more is a copy" : "more are copies");
}

std::string sent_again_sentence(const Report& report) {
    if (report.sent_again.packets == 0) {
        return "";
    }
    std::string kinds;
    for (std::size_t i = 0; i < std::min(report.kinds_sent_again.size(), kMaxKinds); ++i) {
        const SentAgain& one = report.kinds_sent_again[i];
        kinds += (i == 0 ? "" : ", ") + one.protocol +
                 (one.regular ? " every " + brief_duration(one.period) : "");
    }
    return fmt::format("{} {} sent again ({}{}): no copies.",
                       format_quantity(report.sent_again.packets, "packet"),
                       report.sent_again.packets == 1 ? "was" : "were", kinds,
                       report.kinds_sent_again.size() > kMaxKinds ? ", ..." : "");
}

std::string text_of(const NotCompared& one) {
    return fmt::format("{}: {}", heading_of(one), one.text);
}

std::string text_of(const Note& note) {
    return (note.file.empty() ? "" : capture::input_display_name(note.file) + ": ") +
           (note.number == 0 ? "" : "packet " + format_count(note.number) + ": ") + note.text;
}

Remedy remedy(const Report& report) {
    if (!report.recommendation.needed) {
        return {"Bring the clocks together first", shift_command(report)};
    }
    return {any_not_compared(report, NotComparedEffect::kUnknown) ? "If they are copies"
                                                                  : "Remove them",
            report.recommendation.pcap_options.empty() ? "" : remove_command(report)};
}

ReportView make_view(const Report& report) {
    ReportView out;
    out.title = title_of(report);
    for (const FileInfo& file : report.files) {
        out.inputs.push_back(capture::input_display_name(file.path));
    }
    out.opening = opening(report);
    out.headline = headline(report);
    const std::size_t share_end = out.headline.find(" of the packets are copies");
    out.accent = share_end == std::string::npos ? 0 : share_end;
    for (const NotCompared& one : report.not_compared) {
        put(out.caveats, text_of(one), Tone::kWarning);
    }
    out.answer = answer(report);
    if (report.total.packets == 0) {
        out.sections = {warnings_section(report)};
    } else {
        out.sections = {facts_section(report),   ages_section(report),      windows_section(report),
                        causes_section(report),  repeats_section(report),   tunnels_section(report),
                        places_section(report),  protocols_section(report), time_section(report),
                        talkers_section(report), modes_section(report),     what_if_section(report),
                        advice_section(report),  warnings_section(report)};
    }
    std::erase_if(out.sections, [](const Section& one) { return one.blocks.empty(); });
    return out;
}

std::string to_text(const Report& report) {
    return view::to_text(make_view(report));
}

std::string to_html(const Report& report) {
    return view::to_html(
        make_view(report), [&](const Table& table) { return draw(table.chart, report); },
        "analyze");
}

}  // namespace unecho::analyze
