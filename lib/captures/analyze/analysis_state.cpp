// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/analysis_state.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/option_names.h"
#include "captures/analyze/classify/not_compared.h"
#include "captures/analyze/recommend/choose_view.h"
#include "captures/analyze/recommend/recommend.h"
#include "captures/analyze/report/report_toml.h"
#include "captures/link_types.h"
#include "captures/standard_streams.h"
#include "packets/link.h"

namespace unecho::analyze {
namespace {

std::string link_name(std::uint16_t type) {
    const packet::LinkType link = packet::link_type_of(type);
    return link == packet::LinkType::kUnknown ? capture::link_type_text(type)
                                              : std::string(packet::name_of(link));
}

std::string file_name(const std::string& path) {
    return std::filesystem::path(capture::input_display_name(path)).filename().string();
}

// Return the interface's own name, the name of its file if it has none, or both.
std::string name_of(const CaptureInfo::Source& one, const CaptureInfo& capture, bool several) {
    const std::string file =
        one.file < capture.inputs.size() ? file_name(capture.inputs[one.file].path) : "";
    if (one.name.empty()) {
        return file;
    }
    return several ? file + ":" + one.name : one.name;
}

void name_interfaces(Report& report, const std::vector<CaptureInfo>& captures) {
    std::map<std::string, unsigned> taken;
    std::size_t at = 0;
    std::uint32_t files = 0;
    for (const CaptureInfo& capture : captures) {
        const std::size_t known = capture.interfaces.size();
        report.interfaces.resize(std::max(at + known, report.interfaces.size()));
        for (const CaptureInfo::Source& one : capture.interfaces) {
            InterfaceInfo& info = report.interfaces[at++];
            info.file = files + one.file;
            info.link_type = one.link_type;
            info.link_name = link_name(info.link_type);
            info.name = name_of(one, capture, report.files.size() > 1);
            const unsigned times = ++taken[info.name];
            if (times > 1) {
                info.name += " #" + std::to_string(times);
            }
        }
        if (capture.other_interfaces != 0) {
            report.interfaces[at - 1].name = "all others";
            report.other_interfaces += capture.other_interfaces;
        }
        files += static_cast<std::uint32_t>(capture.inputs.size());
    }
}

void name_files(Report& report, const std::vector<CaptureInfo>& captures) {
    std::size_t at = 0;
    for (const CaptureInfo& capture : captures) {
        report.files.resize(std::max(at + capture.inputs.size(), report.files.size()));
        for (const CaptureInfo::Input& input : capture.inputs) {
            report.files[at].path = input.path;
            report.files[at++].plain = input.plain;
        }
    }
}

// `editcap -t` shifts a whole file, so it cannot help if both interfaces are in one file.
void note_clocks(Report& report) {
    for (const ClockShift& one : report.clock_shifts) {
        const InterfaceInfo& from = report.interfaces.at(one.original);
        const InterfaceInfo& to = report.interfaces.at(one.echo);
        const std::string seconds = format_number("%.6g", static_cast<double>(one.age) / 1e9);
        const std::string remedy =
            from.file == to.file || to.file >= report.files.size()
                ? "a window has to be longer than that"
                : fmt::format(
                      "editcap -t -{} {} shifted.pcap brings them together, if their clocks differ",
                      seconds, file_name(report.files[to.file].path));
        report.warnings.push_back(
            {"", 0, 1,
             fmt::format("{} of {} of {} were at {} about {} before: they are copies, and the "
                         "clocks differ or the way takes so long; {}",
                         format_count(one.packets), format_quantity(to.total.packets, "packet"),
                         to.name, from.name, brief_duration(one.age), remedy),
             "clocks"});
    }
}

// "3, 5 and 2 more"
std::string listed(const std::vector<std::uint32_t>& numbers) {
    constexpr std::size_t kMost = 8;
    std::string out;
    for (std::size_t i = 0; i < std::min(numbers.size(), kMost); ++i) {
        out += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
    }
    return numbers.size() <= kMost ? out
                                   : fmt::format("{} and {} more", out, numbers.size() - kMost);
}

void note_parts(Report& report, const std::vector<CaptureInfo>& captures) {
    for (const CaptureInfo& capture : captures) {
        const std::vector<std::uint32_t> missing = capture.missing();
        if (!missing.empty()) {
            report.warnings.push_back(
                {capture.inputs.empty() ? "" : capture.inputs.front().path, 0, 1,
                 fmt::format("only {} of {} {} in this; missing: {}",
                             format_quantity(capture.parts.size(), "shard"), capture.shards,
                             capture.parts.size() == 1 ? "is" : "are", listed(missing))});
        }
    }
    if (captures.size() > 1) {
        report.warnings.push_back({"", 0, 1,
                                   "merged of " + format_quantity(captures.size(), "capture") +
                                       ": a packet that came in two of them is no echo here"});
    }
}

void take_warnings(Report& report, const std::vector<CaptureInfo>& captures) {
    for (const CaptureInfo& capture : captures) {
        for (Note one : capture.warnings) {
            one.what = capture::UnparsedLinks::is_note(one.text) ? "link_type" : "";
            report.warnings.push_back(std::move(one));
        }
        report.incomplete = report.incomplete || capture.incomplete;
    }
}

// Return by how much later than the first each capture began. Set the time span of the whole: from
// the first beginning to the latest end.
std::vector<Nanoseconds> set_time_span(AnalysisState& whole) {
    std::vector<Nanoseconds> later;
    std::optional<Nanoseconds> first;
    Nanoseconds latest = 0;
    for (const CaptureInfo& capture : whole.captures) {
        if (capture.read.packets != 0) {
            first = std::min(first.value_or(capture.first), capture.first);
            latest = std::max(latest, capture.latest);
        }
    }
    Nanoseconds elapsed = 0;
    for (const CaptureInfo& capture : whole.captures) {
        later.push_back(capture.read.packets == 0 ? 0 : capture.first - *first);
        elapsed =
            std::max(elapsed, later.back() + std::min(capture.elapsed, UINT64_MAX - later.back()));
    }
    whole.views.plain.set_time_span(first.value_or(0), latest, elapsed);
    if (whole.views.inside) {
        whole.views.inside->set_time_span(first.value_or(0), latest, elapsed);
    }
    return later;
}

}  // namespace

Report make_report(std::shared_ptr<const AnalysisState> from) {
    AnalysisState whole = *from;  // classification changes it
    const std::vector<Nanoseconds> later = set_time_span(whole);
    auto [chosen, report] = choose_view(whole.views, later);
    name_files(report, whole.captures);
    name_interfaces(report, whole.captures);
    note_clocks(report);
    note_parts(report, whole.captures);
    take_warnings(report, whole.captures);
    report.basis.vxlan_ports = whole.vxlan_ports;
    recommend(report, {chosen->accepted(), chosen->all()});
    report.recommendation.pcap_options = pcap_options(report);
    note_not_compared(report, whole.views.hidden);
    report.recommendation.toml = to_toml(report);
    if (whole.asked) {
        const WhatIf asked{*whole.asked, {}, {}, {}};
        // Both configurations are judged by the packets that either of them compares.
        const bool look_inside = !asked.tunnels.empty() && whole.views.inside;
        report.what_if = (look_inside ? &*whole.views.inside : chosen)->what_if(asked, report);
    }
    report.whole = std::move(from);
    return report;
}

}  // namespace unecho::analyze
