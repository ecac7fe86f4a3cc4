// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/analyze.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <new>

#include "analyze/collector.h"
#include "analyze/recommend.h"
#include "analyze/toml.h"
#include "analyze/view.h"
#include "base/option_names.h"
#include "base/words.h"
#include "capture/compression.h"
#include "capture/link_types.h"
#include "capture/standard_streams.h"
#include "packet/link.h"

namespace unecho::analyze {
namespace {

std::string link_name(std::uint16_t type) {
    const packet::Link link = packet::link_of(type);
    return link == packet::Link::kUnknown ? capture::link_type_text(type)
                                          : std::string(packet::name_of(link));
}

std::string file_name(const std::string& path) {
    return std::filesystem::path(capture::input_text(path)).filename().string();
}

// The interface's own name; that of its file where it has none, or both.
std::string name_of(const capture::Interface& one, std::span<const std::string> paths) {
    const std::string file = one.file < paths.size() ? file_name(paths[one.file]) : "";
    if (one.name.empty()) {
        return file;
    }
    return paths.size() > 1 ? file + ":" + one.name : one.name;
}

void name_interfaces(Report& report, const capture::InterfaceView& interfaces,
                     std::span<const std::string> paths) {
    std::map<std::string, unsigned> taken;
    const std::size_t known = std::min(interfaces.size(), Collector::kMostInterfaces);
    report.interfaces.resize(std::max(known, report.interfaces.size()));
    for (std::size_t i = 0; i < known; ++i) {
        InterfaceInfo& info = report.interfaces[i];
        info.file = interfaces[i].file;
        info.link_type = interfaces[i].link_type;
        info.link_name = link_name(info.link_type);
        info.name = name_of(interfaces[i], paths);
        const unsigned times = ++taken[info.name];
        if (times > 1) {
            info.name += " #" + std::to_string(times);
        }
    }
    if (interfaces.size() > known) {
        report.interfaces.back().name = "all others";
        report.other_interfaces = interfaces.size() - known;
    }
}

void name_files(Report& report, std::span<const std::string> paths) {
    report.files.resize(std::max(paths.size(), report.files.size()));
    for (std::size_t i = 0; i < paths.size(); ++i) {
        report.files[i].path = paths[i];
        report.files[i].plain = capture::compression_of(paths[i]) == capture::Compression::kNone;
    }
}

void take_warnings(Report& report, const std::vector<capture::Warning>& warnings,
                   std::span<const std::string> paths) {
    for (const capture::Warning& warning : warnings) {
        const std::string path = warning.file < paths.size() ? paths[warning.file] : "";
        report.warnings.push_back({path, warning.number, warning.times, warning.text});
        report.incomplete = report.incomplete || warning.incomplete;
    }
}

// editcap shifts what came later back; where the two are of one file it cannot.
void note_clocks(Report& report, std::span<const std::string> paths) {
    for (const ClockShift& one : report.clock_shifts) {
        const InterfaceInfo& from = report.interfaces.at(one.original);
        const InterfaceInfo& to = report.interfaces.at(one.echo);
        const std::string seconds = printed("%.6g", static_cast<double>(one.age) / 1e9);
        const std::string remedy =
            from.file == to.file || to.file >= paths.size()
                ? "a window has to be longer than that"
                : "editcap -t -" + seconds + " " + file_name(paths[to.file]) +
                      " shifted.pcap brings them together, if their clocks differ";
        report.warnings.push_back({"", 0, 1,
                                   format_count(one.packets) + " of " +
                                       counted(to.total.packets, "packet") + " of " + to.name +
                                       " were at " + from.name + " about " + brief(one.age) +
                                       " before: they are copies, and the clocks differ or the way "
                                       "takes so long; " +
                                       remedy});
    }
}

// Their names, and what is wrong with them.
void describe_inputs(Report& report, const capture::Source& source, const Collector& collector,
                     std::span<const std::string> paths) {
    name_interfaces(report, source.interfaces(), paths);
    name_files(report, paths);
    note_clocks(report, paths);
    take_warnings(report, source.warnings(), paths);
    take_warnings(report, collector.unparsed(), paths);
    take_warnings(report, collector.epochs(), paths);
}

// No machine has the addresses for more.
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 46;

std::unique_ptr<Collector> make_collector(const Job& job) {
    if (job.memory > kMostMemory) {
        return nullptr;
    }
    try {
        return std::make_unique<Collector>(job.memory, job.secret, job.vxlan_ports);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

}  // namespace

Result<Report> analyze(capture::Source& source, const Job& job) {
    const std::unique_ptr<Collector> collector = make_collector(job);
    if (!collector) {
        return fail(Errc::kNoMemory, "there is no " + format_size(job.memory) +
                                         " of memory to be had; less " + option::kMemory +
                                         " may do");
    }
    if (job.remover != nullptr) {
        collector->ask(job.remover->described().key_bytes.has_value());
    }
    capture::Batch batch;
    std::vector<std::size_t> removed;
    Result<bool> more = source.next(batch);
    while (more && *more) {
        if (job.remover != nullptr) {
            if (Status decided = job.remover->decide(batch, source.interfaces(), removed);
                !decided) {
                return tl::unexpected(decided.error());
            }
        }
        collector->add(batch.records, source.interfaces(), removed);
        if (job.progress) {
            job.progress(source);
        }
        more = source.next(batch);
    }
    auto [chosen, report] = choose_view(*collector);
    if (!more && report.total.packets == 0) {
        return tl::unexpected(more.error());
    }
    describe_inputs(report, source, *collector, job.paths);
    if (!more) {
        report.warnings.push_back({"", 0, 1, more.error().context + "; read up to there"});
        report.incomplete = true;
    }
    report.basis.vxlan_ports.assign(job.vxlan_ports.begin(), job.vxlan_ports.end());
    recommend(report, {chosen->accepted(), chosen->all()});
    report.recommendation.toml = to_toml(report);
    if (job.remover != nullptr) {
        const WhatIf asked = job.remover->described();
        // Both configurations are judged by the packets that either of them compares.
        const bool look_inside = !asked.tunnels.empty() && collector->inside() != nullptr;
        report.what_if = (look_inside ? collector->inside() : chosen)->what_if(asked, report);
    }
    return report;
}

}  // namespace unecho::analyze
