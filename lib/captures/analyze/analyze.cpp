// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/analyze.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/option_names.h"
#include "captures/analyze/analysis_state.h"
#include "captures/analyze/collect/collector.h"
#include "captures/analyze/collect/run_collector.h"
#include "captures/compression/compression.h"
#include "packets/keys/digests.h"

namespace unecho::analyze {
namespace {

void take_warnings(CaptureInfo& capture, const std::vector<capture::Warning>& warnings,
                   std::span<const std::string> paths) {
    for (const capture::Warning& one : warnings) {
        const std::string path = one.file < paths.size() ? paths[one.file] : "";
        capture.warnings.push_back({path, one.number, one.times, one.text});
    }
    capture.incomplete = capture.incomplete ||
                         std::any_of(warnings.begin(), warnings.end(),
                                     [](const capture::Warning& one) { return one.incomplete; });
}

// Return a mark that distinguishes secrets and reveals no more of them.
std::uint32_t mark_of(const hash::Secret& secret) {
    static constexpr std::array<std::uint8_t, 16> kText{'u', 'n', 'e', 'c', 'h', 'o'};
    const packet::Frame frame{kText.data(), kText.size()};
    Digest digest = 0;
    packet::digest_frames({&frame, 1}, secret, &digest);
    return static_cast<std::uint32_t>(digest >> 32);
}

CaptureInfo describe(const capture::Source& source, const Collector& collector,
                     const AnalysisJob& job) {
    CaptureInfo out;
    out.read = collector.read();
    out.first = collector.first();
    out.latest = collector.latest();
    out.elapsed = collector.elapsed();
    out.shards = job.shard.count;
    out.parts = {job.shard.index};
    out.secret = job.shard.whole() ? 0 : mark_of(job.secret);
    for (const std::string& path : job.paths) {
        out.inputs.push_back(
            {path, capture::detect_compression(path) == capture::Compression::kNone});
    }
    const capture::InterfaceView interfaces = source.interfaces();
    const std::size_t known = std::min(interfaces.size(), Collector::kMaxInterfaces);
    for (std::size_t i = 0; i < known; ++i) {
        out.interfaces.push_back({interfaces[i].name, interfaces[i].file, interfaces[i].link_type});
    }
    out.other_interfaces = interfaces.size() - known;
    take_warnings(out, source.warnings(), job.paths);
    take_warnings(out, collector.unparsed(), job.paths);
    take_warnings(out, collector.epochs(), job.paths);
    return out;
}

constexpr std::uint64_t kMaxMemory = std::uint64_t{1} << 46;

std::unique_ptr<Collector> make_collector(const AnalysisJob& job) {
    if (job.memory > kMaxMemory) {
        return nullptr;
    }
    try {
        return std::make_unique<Collector>(job.memory, job.secret, job.vxlan_ports, job.shard);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

}  // namespace

Result<Report> analyze(capture::Source& source, const AnalysisJob& job) {
    const std::unique_ptr<Collector> collector = make_collector(job);
    if (!collector) {
        return fail(Errc::kNoMemory,
                    fmt::format("there is no {} of memory to be had; less {} may do",
                                format_size(job.memory), option::kMemory));
    }
    if (job.remover != nullptr) {
        collector->ask(job.remover->described().key_bytes.has_value());
    }
    const CountErrors end =
        run_collector(source, *collector, {job.threads, job.remover, job.progress});
    if (end.remover || (end.source && collector->read().packets == 0)) {
        return tl::unexpected(end.remover ? *end.remover : *end.source);
    }
    const auto whole = std::make_shared<AnalysisState>();
    whole->views = collector->views();
    whole->captures.push_back(describe(source, *collector, job));
    if (end.source) {
        CaptureInfo& capture = whole->captures.front();
        capture.warnings.push_back({"", 0, 1, end.source->context + "; read up to there"});
        capture.incomplete = true;
    }
    whole->vxlan_ports.assign(job.vxlan_ports.begin(), job.vxlan_ports.end());
    if (job.remover != nullptr) {
        whole->asked = job.remover->described();
    }
    return make_report(whole);
}

}  // namespace unecho::analyze
