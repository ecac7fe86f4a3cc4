// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/pcap_run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "base/option_names.h"
#include "base/utf8.h"
#include "captures/compression/compression.h"
#include "captures/dedup/batch_reader.h"
#include "captures/dedup/check_files.h"
#include "captures/dedup/output_set.h"
#include "captures/link_types.h"
#include "captures/live/live_source.h"
#include "captures/open_captures.h"
#include "captures/standard_streams.h"
#include "captures/warning_list.h"

namespace unecho::dedup {
namespace {

// Memory besides that of remembered packets and inputs: the program itself (options.h), each
// output's buffers, and batches on their way.
constexpr std::uint64_t kOutputBytes = std::uint64_t{2} << 20;
constexpr std::uint64_t kSplitBytes = std::uint64_t{4} << 20;  // repeated blocks of pcapng files
constexpr std::uint64_t kAheadBytes = (kBatchesAhead + 2) * (std::uint64_t{3} << 19);
constexpr std::uint64_t kMinToRemember = std::uint64_t{1} << 20;

Status check_memory(std::uint64_t memory, std::uint64_t least) {
    return memory >= least
               ? Status()
               : fail(Errc::kConfig,
                      fmt::format("{}: {} is too little; allowed here: {} or more", option::kMemory,
                                  format_size(memory), size_literal(least)));
}

// memory: for remembered packets.
struct Opened {
    std::unique_ptr<capture::Source> source;
    std::uint64_t memory;
};

Result<Opened> open_inputs(const FileOptions& files, const Options& options,
                           const ThreadOptions& threads) {
    const std::uint64_t beside = kProgramBytes + kOutputBytes * outputs_of(files).size() +
                                 (files.split.none() ? 0 : kSplitBytes) +
                                 (threads.ahead ? kAheadBytes : 0);
    const auto budget =
        std::make_shared<capture::MemoryBudget>(options.memory, beside + kMinToRemember);
    Status enough = check_memory(options.memory, budget->least_memory(files.inputs.size()));
    UNECHO_TRY(enough);
    auto source = capture::open_captures(files.inputs, options.jump(), budget, files.recover,
                                         threads.inflating);
    UNECHO_TRY(source);
    const std::uint64_t inputs = budget->reserved();
    enough = check_memory(options.memory, beside + kMinToRemember + inputs);
    UNECHO_TRY(enough);
    return Opened{*std::move(source), options.memory - beside - inputs};
}

// Check before anything is captured. With files, the writer reports the first such packet.
Status check_link_types(const FileOptions& files, const capture::Source& source) {
    const capture::InterfaceView known = source.interfaces();
    const auto* const other = std::find_if(known.begin(), known.end(), [&](const auto& one) {
        return one.link_type != known[0].link_type;
    });
    if (other == known.end()) {
        return {};
    }
    for (const auto& path : {files.output, files.dropped}) {
        const auto named = capture::format_from_name(path.value_or(""));
        if (named && *named && **named != capture::FileFormat::kPcapng) {
            return fail(
                Errc::kConfig,
                fmt::format(
                    "{}: {} has {}, {} {}; a pcap holds one link type, name the output .pcapng",
                    escaped(*path), known[0].name, capture::link_type_text(known[0].link_type),
                    other->name, capture::link_type_text(other->link_type)));
        }
    }
    return {};
}

Result<Opened> open_interfaces(const FileOptions& files, const Options& options,
                               const OpenLive& open) {
    const std::uint64_t beside = kProgramBytes + kOutputBytes * outputs_of(files).size() +
                                 kAheadBytes + capture::kMaxReorderBytes;
    const Status enough = check_memory(options.memory, beside + kMinToRemember);
    UNECHO_TRY(enough);
    auto source = open();
    UNECHO_TRY(source);
    const Status one_type = check_link_types(files, **source);
    UNECHO_TRY(one_type);
    return Opened{*std::move(source), options.memory - beside};
}

// Return a bound of the packets. Files of known size: no record is smaller than its header.
// Interfaces: the packets that can come in a window; a larger filter would only take time to sweep.
std::optional<std::uint64_t> most_packets_of(const FileOptions& files, const Options& options,
                                             const capture::Source& source) {
    constexpr std::uint64_t kRecordHeader = 16;
    constexpr std::uint64_t kLivePackets = 20;  // per microsecond, more than libpcap takes
    if (files.live) {
        return std::max(options.window_time(), kMicrosecond) / kMicrosecond * kLivePackets;
    }
    const std::uint64_t bytes = source.progress().total;
    for (const std::string& path : files.inputs) {
        if (bytes == 0 || capture::detect_compression(path) != capture::Compression::kNone) {
            return std::nullopt;
        }
    }
    return bytes / kRecordHeader;
}

// A seed makes engines that are not exact reproducible.
Result<hash::Secret> secret_of(const Options& options) {
    return options.seed ? hash::secret_from_seed(*options.seed) : hash::random_secret();
}

// Return the format for names that state none: that of the first input, if it can hold the packets.
capture::FileFormat format_of(const capture::Source& source) {
    const capture::InterfaceView known = source.interfaces();
    const bool several = std::any_of(known.begin(), known.end(), [&](const auto& one) {
        return one.link_type != known[0].link_type;
    });
    return several ? capture::FileFormat::kPcapng : source.format();
}

struct ProcessedTotals {
    Nanoseconds elapsed = 0;
    std::uint64_t packets = 0;
};

Result<ProcessedTotals> process_batches(BatchReader& feed, Deduplicator& deduplicator,
                                        OutputSet& outputs, const OnProgress& on_progress) {
    DigestedBatch digested;
    Verdicts verdicts;
    ProcessedTotals passed;
    for (;;) {
        const Result<bool> more = feed.next(digested);
        UNECHO_TRY(more);
        if (!*more) {
            break;
        }
        if (outputs.rotation_end().full) {
            continue;
        }
        passed = {digested.elapsed, digested.read};
        if (const Status decided = deduplicator.decide(
                digested.bursts, digested.batch.records.size(), outputs.wants_pairs(), verdicts);
            !decided) {
            return tl::unexpected(decided.error());
        }
        UNECHO_TRY(outputs.write(digested, verdicts));
        on_progress({.input = digested.progress,
                     .packets = passed.packets,
                     .echoes = deduplicator.counts().packets(pipeline::Reason::kEcho),
                     .full = outputs.rotation_end().full});
    }
    const Status closed = outputs.close(feed.interfaces());
    return closed ? Result<ProcessedTotals>(passed) : tl::unexpected(closed.error());
}

Result<ProcessedTotals> process_all(BatchReader& feed, Deduplicator& deduplicator,
                                    OutputSet& outputs, bool live, const OnProgress& on_progress) {
    auto passed = process_batches(feed, deduplicator, outputs, on_progress);
    if (!passed && live) {
        outputs.close_partial_outputs();
    }
    return passed;
}

std::vector<std::string> warnings_of(const FileOptions& files, const Options& options,
                                     const BatchReader& feed, const OutputSet& outputs,
                                     const Deduplicator& deduplicator) {
    std::vector<std::string> lines;
    std::vector<capture::Warning> all = feed.warnings();
    const std::vector<capture::Warning> written = outputs.warnings();
    all.insert(all.end(), written.begin(), written.end());
    for (const capture::Warning& warning : all) {
        if (warning.times != 0) {
            lines.push_back(capture::warning_text(warning, files.inputs));
        }
    }
    lines.insert(lines.end(), deduplicator.notes().begin(), deduplicator.notes().end());
    const std::uint64_t doubts = deduplicator.counts().packets(pipeline::Reason::kDoubt);
    if (doubts != 0) {
        lines.push_back(fmt::format(
            "{} matches may be accidents and were kept, echoes among them: where they lie the "
            "filter is fuller than {} allows; give more {} or a higher {}",
            format_count(doubts), option::kMaxFalseDrop, option::kMemory, option::kMaxFalseDrop));
    }
    const DeciderFacts facts = deduplicator.facts();
    if (facts.forgotten != 0) {
        lines.push_back(format_count(facts.forgotten) +
                        " packets were forgotten inside their window for want of memory");
    }
    if (facts.window && facts.window->shortest < options.window_time()) {
        lines.push_back(window_warning(options, *facts.window));
    }
    return lines;
}

Summary summary_of(const FileOptions& files, const Options& options,
                   const Deduplicator& deduplicator) {
    Summary summary;
    summary.options = options;
    summary.inputs = files.inputs;
    summary.output = files.output;
    summary.marked = files.mark;
    summary.reasons = deduplicator.counts().reasons();
    summary.non_ip_types = deduplicator.counts().non_ip_types();
    summary.tunnels = deduplicator.counts().tunnels();
    summary.decider = deduplicator.facts();
    summary.repeats = deduplicator.repeats();
    summary.answers = deduplicator.answers(files.inputs);
    return summary;
}

using OpenInputs = std::function<Result<Opened>()>;

// The parts of a run. All may be refused, so they are made before a packet is read.
struct Parts {
    std::unique_ptr<capture::Source> source;
    OutputSet outputs;
    std::unique_ptr<Deduplicator> deduplicator;
    std::shared_ptr<std::uint64_t> left_out;  // null: no selection
    std::size_t taps = 0;                     // of the inputs, as far as known
    bool twice = false;                       // the inputs are read twice
};

bool is_regular(const std::string& path) {
    std::error_code code;
    return path != capture::kStandardStream && std::filesystem::is_regular_file(path, code);
}

// Refuse two passes over inputs that cannot be read twice. A missing file is reported when opened.
Status check_passes(const FileOptions& files, const Options& options) {
    for (const std::string& path : files.inputs) {
        std::error_code code;
        if (options.passes == 2U && !is_regular(path) &&
            (path == capture::kStandardStream || std::filesystem::exists(path, code))) {
            return fail(
                Errc::kConfig,
                fmt::format("{}: 2 reads the inputs twice, and {} is no regular file; allowed: 1",
                            option::kPasses, escaped(path)));
        }
    }
    return {};
}

// Open the inputs, or a selection. left_out counts the other packets; null: no selection.
Result<Opened> open_selected(const OpenInputs& open, const FileOptions& files,
                             std::shared_ptr<std::uint64_t>& left_out) {
    auto opened = open();
    if (opened && !files.selection.all()) {
        left_out = std::make_shared<std::uint64_t>(0);
        auto selected = capture::select(std::move(opened->source), files.selection, left_out);
        UNECHO_TRY(selected);
        opened->source = std::move(*selected);
    }
    return opened;
}

// Return true if evidence of doubled populations is to be gathered from the whole input before the
// first packet is decided. All inputs must be readable twice.
bool needs_two_passes(const FileOptions& files, const Options& options, std::size_t taps) {
    if (!options.needs_evidence(taps) || files.live || options.passes == 1U) {
        return false;
    }
    return std::all_of(files.inputs.begin(), files.inputs.end(), is_regular);
}

void keep_blocks_for(OutputSet& outputs, capture::Source& source) {
    if (outputs.any_keeps_blocks()) {
        source.keep_blocks(outputs.main_keeps_blocks());
    }
}

Status make_deduplicator(Parts& parts, const FileOptions& files, const Options& options,
                         std::uint64_t memory) {
    auto made = Deduplicator::make(options, memory, most_packets_of(files, options, *parts.source),
                                   parts.taps);
    UNECHO_TRY(made);
    parts.deduplicator = std::move(*made);
    return {};
}

Result<Parts> open_all(const FileOptions& files, const Options& options, const OpenInputs& open) {
    UNECHO_TRY(check(options));
    UNECHO_TRY(check_files(files));
    UNECHO_TRY(check_passes(files, options));
    Parts parts;
    auto opened = open_selected(open, files, parts.left_out);
    UNECHO_TRY(opened);
    parts.source = std::move(opened->source);
    auto outputs = OutputSet::create(files, format_of(*parts.source));
    UNECHO_TRY(outputs);
    parts.outputs = std::move(*outputs);
    parts.taps = parts.source->interfaces().size();
    parts.twice = needs_two_passes(files, options, parts.taps);
    if (!parts.twice) {
        keep_blocks_for(parts.outputs, *parts.source);
    }
    UNECHO_TRY(make_deduplicator(parts, files, options, opened->memory));
    return parts;
}

Digester digester_of(const FileOptions& files, const Options& options, const hash::Secret& secret,
                     std::size_t taps) {
    return Digester(key_of(options, taps), secret, options.clock(), options.ignored_bytes,
                    files.inputs.size() > 1, options.shard.value_or(Shard()), options.groups);
}

// Do the first reading: like the second, but write nothing. It uses up the source.
Result<Evidence> gather_evidence(Parts& parts, const FileOptions& files, const Options& options,
                                 const hash::Secret& secret, bool ahead,
                                 const OnProgress& on_progress) {
    const auto feed = make_batch_reader(std::move(parts.source),
                                        digester_of(files, options, secret, parts.taps), ahead);
    DigestedBatch digested;
    Verdicts verdicts;
    for (;;) {
        const Result<bool> more = feed->next(digested);
        UNECHO_TRY(more);
        if (!*more) {
            return parts.deduplicator->evidence();
        }
        const Status decided = parts.deduplicator->decide(
            digested.bursts, digested.batch.records.size(), false, verdicts);
        UNECHO_TRY(decided);
        on_progress({.input = digested.progress, .packets = 0, .echoes = 0, .full = false});
    }
}

// Read the inputs once for evidence, and open them again. Of what the first reading needs, nothing
// is left when the second begins, so that two need no more memory and open files than one.
Status read_first(Parts& parts, const OpenInputs& open, const FileOptions& files,
                  const Options& options, const hash::Secret& secret, bool ahead,
                  const OnProgress& on_progress) {
    const auto evidence = gather_evidence(parts, files, options, secret, ahead, on_progress);
    UNECHO_TRY(evidence);
    parts.deduplicator.reset();
    auto opened = open_selected(open, files, parts.left_out);
    UNECHO_TRY(opened);
    parts.source = std::move(opened->source);
    keep_blocks_for(parts.outputs, *parts.source);
    UNECHO_TRY(make_deduplicator(parts, files, options, opened->memory));
    parts.deduplicator->learn(*evidence);
    return {};
}

Result<Summary> run_from(const OpenInputs& open, const FileOptions& files, const Options& options,
                         bool ahead, const OnProgress& on_progress) {
    const auto start = std::chrono::steady_clock::now();
    const auto secret = secret_of(options);
    UNECHO_TRY(secret);
    auto parts = open_all(files, options, open);
    UNECHO_TRY(parts);
    const Status begun = files.live ? parts->outputs.begin(parts->source->interfaces()) : Status();
    UNECHO_TRY(begun);
    if (parts->twice) {
        UNECHO_TRY(read_first(*parts, open, files, options, *secret, ahead, on_progress));
    }
    const auto feed = make_batch_reader(std::move(parts->source),
                                        digester_of(files, options, *secret, parts->taps), ahead);
    const auto passed =
        process_all(*feed, *parts->deduplicator, parts->outputs, files.live, on_progress);
    UNECHO_TRY(passed);
    Summary summary = summary_of(files, options, *parts->deduplicator);
    summary.duration = passed->elapsed;
    summary.read = passed->packets;
    summary.audit = parts->deduplicator->audit(passed->elapsed, files.inputs);
    summary.wire_bytes = parts->outputs.wire();
    summary.dropped_wire_bytes = parts->outputs.dropped_wire();
    summary.split_files = parts->outputs.split_files();
    summary.after_last_file = parts->outputs.rotation_end().after_last_file;
    if (parts->left_out) {
        summary.left_out = *parts->left_out;
    }
    const std::vector<capture::Warning> read = feed->warnings();
    summary.incomplete = std::any_of(read.begin(), read.end(),
                                     [](const auto& warning) { return warning.incomplete; });
    summary.warnings = warnings_of(files, options, *feed, parts->outputs, *parts->deduplicator);
    summary.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return summary;
}

}  // namespace

Result<Summary> run_pcap(const FileOptions& files, const Options& options,
                         const ThreadOptions& threads, const OnProgress& on_progress) {
    const auto open = [&] { return open_inputs(files, options, threads); };
    return run_from(open, files, options, threads.ahead, on_progress);
}

Result<Summary> run_capture(const FileOptions& files, const Options& options, const OpenLive& open,
                            const OnProgress& on_progress) {
    const auto open_them = [&] { return open_interfaces(files, options, open); };
    return run_from(open_them, files, options, true, on_progress);
}

}  // namespace unecho::dedup
