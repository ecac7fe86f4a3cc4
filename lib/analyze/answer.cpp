// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string_view>

#include "analyze/ages.h"
#include "analyze/text.h"
#include "analyze/words.h"
#include "base/option_names.h"
#include "base/utf8.h"
#include "base/words.h"
#include "capture/standard_streams.h"

namespace unecho::analyze {
namespace {

constexpr std::size_t kFewFiles = 4;
constexpr std::size_t kFewKinds = 3;
constexpr std::size_t kFewNotes = 4;

// As a shell takes it.
std::string shell_word(const std::string& path) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=+,@%-";
    std::string out;
    for (const char c : path) {
        out += c == '\'' ? "'\\''" : std::string(1, c);
    }
    const std::string begin = path.starts_with('-') && path.size() > 1 ? "./" : "";
    return begin + (path.find_first_not_of(kPlain) == std::string::npos ? out : "'" + out + "'");
}

std::string opening(const Report& report) {
    const std::string first =
        report.files.empty() ? "" : capture::input_text(report.files.front().path);
    return (report.files.size() < 2 ? first
                                    : counted(report.files.size(), "input") + ", " + first +
                                          " to " + capture::input_text(report.files.back().path)) +
           ": " + counted(report.total.packets, "packet") + ", " +
           traffic(report.total.bytes, report.captured) + ", " + brief(report.duration);
}

std::string conclusion(const Report& report) {
    const Count cut = cut_short(report);
    if (report.total.packets == 1) {
        return "A single packet, so no copies.\n";
    }
    std::string out =
        report.copied.packets == 0 && cut.packets == 0
            ? "No copies.\n"
            : percent(share(report.copied.packets, report.total.packets)) +
                  " of the packets are copies: " + format_count(report.copied.packets) + ".\n";
    if (cut.packets != 0) {
        out += counted(cut.packets, "packet") +
               (cut.packets == 1 ? " more is a copy" : " more are copies") +
               " of one that was captured longer or shorter.\n";
    }
    return out;
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
                   std::string(kCauseTable[static_cast<std::size_t>(causes[i].cause)].meaning) +
                   ")";
        }
    }
    if (out.empty()) {
        return "";
    }
    return wrapped(
        out + "; " + brief(report.ages.youngest) +
            (report.ages.youngest == report.ages.oldest ? "" : " to " + brief(report.ages.oldest)) +
            " behind the packet before.",
        "  ");
}

std::string stays(const Report& report) {
    if (report.sent_again.packets == 0) {
        return "";
    }
    std::string kinds;
    for (std::size_t i = 0; i < std::min(report.kinds_sent_again.size(), kFewKinds); ++i) {
        const SentAgain& one = report.kinds_sent_again[i];
        kinds += (i == 0 ? "" : ", ") + one.protocol +
                 (one.regular ? " every " + brief(one.period) : "");
    }
    return wrapped(counted(report.sent_again.packets, "packet") +
                       (report.sent_again.packets == 1 ? " was" : " were") + " sent again (" +
                       kinds + (report.kinds_sent_again.size() > kFewKinds ? ", ..." : "") +
                       "): no copies.",
                   "");
}

std::string without_ip(const Report& report) {
    const std::uint64_t others = report.non_ip.packets + report.malformed.packets;
    std::string out;
    if (others != 0) {
        out = wrapped(
            "Without an IP packet: " + format_count(others) +
                (report.non_ip_types.empty() ? ""
                                             : " (" + engines::text_of(report.non_ip_types) + ")") +
                ", compared as whole frames.",
            "");
    }
    const std::uint64_t closed = report.tunnels
                                     ? report.tunnels->other + report.tunnels->too_deep +
                                           report.tunnels->fragments + report.tunnels->malformed
                                     : 0;
    return out + (closed == 0 ? ""
                              : wrapped("In tunnels that were not opened to their end: " +
                                            format_count(closed) + ".",
                                        ""));
}

std::string remarks(const Report& report) {
    std::string out;
    const std::vector<Note> all = taken_together(report.warnings);
    for (std::size_t i = 0; i < std::min(all.size(), kFewNotes); ++i) {
        out += wrapped(
            "Note: " +
                printable(all[i].file.empty() ? "" : capture::input_text(all[i].file) + ": ") +
                (all[i].number == 0 ? "" : "packet " + format_count(all[i].number) + ": ") +
                printable(all[i].text),
            "");
    }
    return out + (all.size() > kFewNotes
                      ? "and " + counted(all.size() - kFewNotes, "more note") + "\n"
                      : "");
}

}  // namespace

std::string remove_command(const Report& report) {
    std::string out = "unecho pcap";
    for (const FileInfo& file : report.files) {
        // One that a terminal does not show as it is cannot be copied from it.
        out += " " + (printable(file.path) == file.path ? shell_word(file.path) : "IN");
    }
    return out + " -o clean.pcap " + report.recommendation.pcap_options;
}

std::string to_answer(const Report& report) {
    const Recommendation& wanted = report.recommendation;
    std::string out = printable(opening(report)) + "\n";
    if (report.total.packets == 0) {
        return out + "There are no packets in " + (report.files.size() > 1 ? "them" : "it") + ".\n";
    }
    out += without_ip(report) + remarks(report) + "\n" + conclusion(report) + why(report) +
           stays(report);
    if (!wanted.sure_reason.empty()) {
        out += wrapped(wanted.sure_reason, "");
    }
    out += "\n";
    if (wanted.needed) {
        out += "Remove them:  " +
               (report.files.size() <= kFewFiles
                    ? remove_command(report)
                    : "unecho pcap IN... -o clean.pcap " + wanted.pcap_options) +
               "\n";
        out += "Live:         unecho analyze " + option::kToml +
               " unecho.toml ...   (the same as a configuration)\n";
    }
    return out + "More:         -v prints the whole report, " + option::kHtml +
           " report.html draws it\n";
}

}  // namespace unecho::analyze
