// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <numeric>

#include "captures/analyze/classify/not_compared.h"
#include "captures/analyze/report/html/html_parts.h"
#include "captures/analyze/report/html/html_sections.h"
#include "captures/analyze/report/html/html_text.h"
#include "captures/analyze/report/report_text.h"
#include "captures/analyze/report/text_format.h"
#include "captures/standard_streams.h"
#include "packets/keys/key.h"

namespace unecho::analyze {
namespace {

constexpr std::size_t kMaxFiles = 4;
constexpr std::size_t kMostKinds = 4;

std::string tile(std::string_view name, const std::string& big, const std::string& small,
                 const char* tone) {
    return fill(
        "<div style=\"--tone:var({})\"><dt>{}</dt><dd><div class=\"big\">{}</div>"
        "<div class=\"small\">{}</div></dd></div>\n",
        {tone, escape(name), big, small});
}

std::string headline(const Report& report) {
    if (report.total.packets == 0) {
        return "There are no packets in this capture.";
    }
    if (const std::string none = no_verdict(report); !none.empty()) {
        return escape(none);
    }
    if (report.copied.packets == 0 && copies_cut_short(report).packets != 0) {
        return "The copies are cut short.";
    }
    if (report.copied.packets == 0) {
        return report.total.packets == 1        ? "A single packet, so no echoes."
               : report.sent_again.packets == 0 ? "No echoes."
                                                : "No copies.";
    }
    return fill("<span class=\"echo-text\">{}</span> of the packets are copies.",
                {share_text(report.copied.packets, report.total.packets)});
}

std::string without_echoes(const Report& report) {
    if (report.total.packets < 2) {
        return "";
    }
    if (report.keyed.packets < 2) {
        return report.keyed.packets == 0 ? "None of the packets has a key to compare."
                                         : "Only one of the packets has a key to compare.";
    }
    return fill("Each of the {} that have a key came once.",
                {count_text(report.keyed.packets, "packet")});
}

// "12 were sent again (IPv4 VRRP, ARP): no copies."
std::string sent_again(const Report& report) {
    std::string kinds;
    for (std::size_t i = 0; i < std::min(report.kinds_sent_again.size(), kMostKinds); ++i) {
        const SentAgain& one = report.kinds_sent_again[i];
        kinds += (i == 0 ? "" : ", ") + escape(one.protocol) +
                 (one.regular ? " every " + duration_text(one.period) : "");
    }
    return fill("{} {} sent again ({}{}): no copies.",
                {figure("sent_again.packets", report.sent_again.packets),
                 report.sent_again.packets == 1 ? "was" : "were", kinds,
                 report.kinds_sent_again.size() > kMostKinds ? ", ..." : ""});
}

// Copies cut short, which are not among the copies.
std::string cut_copies(const Report& report) {
    const Count cut = copies_cut_short(report);
    return cut.packets == 0
               ? ""
               : fill(" {} more {} of one that was captured longer or shorter: see key bytes.",
                      {count_text(cut.packets), cut.packets == 1 ? "is a copy" : "are copies"});
}

std::string in_words(const Report& report) {
    if (any_not_compared(report, NotComparedEffect::kUnknown)) {
        return "";
    }
    const std::string again =
        cut_copies(report) + (report.sent_again.packets == 0 ? "" : " " + sent_again(report));
    if (report.copied.packets == 0) {
        return again.empty() ? without_echoes(report) : again.substr(1);
    }
    std::string text =
        fill("{} of {} are copies of an earlier one",
             {count_text(report.copied.packets), count_text(report.total.packets, "packet")});
    text += report.ages.oldest == 0
                ? ", captured at the same time."
                : fill(": half of them follow within {}, the last after {}.",
                       {duration_text(report.ages.p50), duration_text(report.ages.oldest)});
    if (!report.recommendation.needed) {
        text += is_not_compared(report, "clocks")
                    ? " No window removes them before the clocks agree."
                    : " There is nothing worth removing.";
    }
    return text + again;
}

std::string removed_text(const Report& report) {
    return share_text(std::min(report.recommendation.removed.packets, report.copied.packets),
                      report.copied.packets);
}

std::string tiles(const Report& report) {
    const Recommendation& advice = report.recommendation;
    std::string out =
        tile("Copies", figure("copied.packets", report.copied.packets),
             fill("{} of {}", {share_text(report.copied.packets, report.total.packets),
                               count_text(report.total.packets, "packet")}),
             "--echo");
    out += tile("What they cost",
                figure("copied.bytes", report.copied.bytes, bytes_text(report.copied.bytes)),
                fill("{} of {} on the wire", {share_text(report.copied.bytes, report.total.bytes),
                                              bytes_text(report.total.bytes)}),
                "--echo");
    if (advice.needed) {
        out += tile("Recommended window",
                    figure("recommendation.window_ns", advice.window, duration_text(advice.window)),
                    fill("key {}, removes {} of the copies",
                         {escape(packet::name_of(advice.key)), removed_text(report)}),
                    "--accent");
    }
    return "<dl class=\"answer\">\n" + out + "</dl>\n";
}

// All files; those beyond the first few unfold.
std::string file_names(const Report& report) {
    std::string first;
    std::string more;
    for (std::size_t i = 0; i < report.files.size(); ++i) {
        std::string& out = i < kMaxFiles ? first : more;
        out +=
            (out.empty() ? "" : ", ") + escape(capture::input_display_name(report.files[i].path));
    }
    return fill(
        "<div class=\"source\">{}{}</div>\n",
        {first, more.empty()
                    ? ""
                    : fill("<details><summary>and {}</summary>{}</details>",
                           {count_text(report.files.size() - kMaxFiles, "other file"), more})});
}

// Return a command to copy: it removes the copies, or aligns clocks if that comes first.
std::string remove_line(const Report& report) {
    const bool needed = report.recommendation.needed && !report.recommendation.pcap_options.empty();
    const std::string command = needed ? remove_command(report) : shift_command(report);
    const bool unknown = any_not_compared(report, NotComparedEffect::kUnknown);
    return command.empty()
               ? ""
               : fill(
                     "<p class=\"lead\">{}:</p>\n"
                     "<div class=\"code\"><button type=\"button\" data-copy=\"remove\" hidden>Copy"
                     "</button><pre id=\"remove\" tabindex=\"0\"><code>{}</code></pre></div>\n",
                     {!needed   ? "Bring the clocks together first"
                      : unknown ? "If they are copies"
                                : "Remove them",
                      escape(command)});
}

// Notes on packets that could not be compared precede all numbers.
std::string not_compared_lines(const Report& report) {
    std::string out;
    for (const NotCompared& one : report.not_compared) {
        out += fill("<p class=\"warning\">{}: {}</p>\n",
                    {std::string(heading_of(one)), escape(one.text)});
    }
    return out;
}

std::string lead(const std::string& content) {
    return content.empty() ? "" : "<p class=\"lead\">" + content + "</p>\n";
}

// Return what the reader should know before believing the numbers.
std::string doubts(const Report& report) {
    std::string out;
    if (report.blind_after) {
        out += fill(
            "<p class=\"warning\">Memory was full: echoes that are older than {} may have "
            "been overlooked.</p>\n",
            {duration_text(*report.blind_after)});
    }
    if (!report.warnings.empty()) {
        out += fill("<p class=\"warning\"><a href=\"#warnings\">{}</a> about the capture.</p>\n",
                    {count_text(merge_equal_notes(report.warnings).size(), "warning")});
    }
    return out;
}

// Return how many keys came once, twice and more often.
std::string key_times(const Report& report) {
    const auto& times = report.key_times;
    const auto more = std::accumulate(times.begin() + 2, times.end(), std::uint64_t{0});
    std::string out;
    const auto add = [&out](std::uint64_t count, const std::string& text) {
        out += count == 0 ? "" : (out.empty() ? "" : ", ") + text;
    };
    add(times[0], figure("copies.0", times[0]) + " once");
    add(times[1], figure("copies.1", times[1]) + " twice");
    add(more, count_text(more) + " more than twice");
    return out;
}

std::string rate_text(const Report& report) {
    const double seconds = static_cast<double>(report.duration) / 1e9;
    return packet_rate_text(static_cast<double>(report.total.packets) / seconds) + ", " +
           bit_rate_text(static_cast<double>(report.total.bytes) * 8 / seconds);
}

}  // namespace

std::string answer_section(const Report& report) {
    return fill(
        "<header>\n{}<h1>{}</h1>\n{}{}{}"
        "</header>\n",
        {file_names(report), headline(report),
         remove_line(report) + not_compared_lines(report) + lead(in_words(report)),
         report.copied.packets == 0 || any_not_compared(report, NotComparedEffect::kUnknown)
             ? ""
             : tiles(report),
         doubts(report)});
}

std::string facts_section(const Report& report) {
    if (report.total.packets == 0) {
        return "";
    }
    std::string out =
        fact("Packets", figure("total.packets", report.total.packets)) +
        fact("On the wire",
             figure("total.bytes", report.total.bytes, bytes_text(report.total.bytes))) +
        fact("Captured", figure("captured_bytes", report.captured, bytes_text(report.captured))) +
        fact("From (UTC)", date_text(report.first_time)) +
        fact("Duration",
             report.duration == 0 ? "all at the same time" : duration_text(report.duration)) +
        (has_rate(report) ? fact("On average", rate_text(report)) : "") +
        fact("With a key", figure("keyed.packets", report.keyed.packets)) +
        fact("Without", figure("non_ip.packets", report.non_ip.packets) + " not IP, " +
                            figure("malformed.packets", report.malformed.packets) + " malformed") +
        (report.non_ip_types.empty()
             ? ""
             : fact("Not IP", escape(engines::text_of(report.non_ip_types)))) +
        fact("Different ones",
             (report.blind_after ? "at most " : "") + figure("keys", report.keys));
    if (report.echoes.packets != 0) {
        out += fact("These came", key_times(report));
    }
    if (report.interfaces.size() == 1) {
        out += fact("Link type", escape(report.interfaces.front().link_name));
    }
    return section("facts", "What was captured", "<dl class=\"facts\">\n" + out + "</dl>\n");
}

}  // namespace unecho::analyze
