// SPDX-License-Identifier: BSD-3-Clause
// unecho pcap IN... -o OUT: remove duplicates from captures.
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/option_names.h"
#include "base/units.h"
#include "captures/dedup/date_time.h"
#include "captures/dedup/pcap_run.h"
#include "captures/output/output.h"
#include "captures/standard_streams.h"
#include "commands/commands.h"
#include "options/arguments.h"
#include "options/format_option.h"
#include "options/seed_option.h"
#include "options/window_options.h"
#include "terminal/long_run.h"
#include "terminal/print.h"

namespace unecho::app {
namespace {

struct PcapOptions {
    dedup::FileOptions files;
    WindowOptions echo;
    RepeatOptions repeats;
    OptionText passes;
    OptionText count;
    OptionText engine;
    OptionText max_false_drop;
    OptionText memory;
    SeedOption seed;
    OptionText jobs;
    OptionText shard;
    OptionText format;
    OptionText start;
    OptionText stop;
    OptionText split_packets;
    OptionText split_seconds;
    OptionText ignore_bytes;
    bool editcap = false;
    bool audit = false;
    bool dry_run = false;
    bool json = false;
    bool quiet = false;
};

// Parse seconds as editcap takes them, such as "10" or "0.5", or a duration.
Result<Nanoseconds> parse_seconds(const std::string& text) {
    const bool plain = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
    const auto time = parse_duration(plain ? text + "s" : text);
    return time && *time != 0
               ? time
               : Result<Nanoseconds>(fail(Errc::kInvalidArgument,
                                          fmt::format("\"{}\"; allowed: seconds, above 0, as in 60 "
                                                      "or 0.5, or a duration as in 1h",
                                                      text)));
}

Result<std::uint32_t> parse_ignored(const std::string& text) {
    constexpr std::uint64_t kMost = 65535;
    const auto bytes = parse_whole(text);
    if (!bytes || *bytes > kMost) {
        return fail(Errc::kInvalidArgument, fmt::format("\"{}\"; allowed: 0 to 65535 bytes", text));
    }
    return static_cast<std::uint32_t>(*bytes);
}

Result<dedup::FileOptions> read_files(const PcapOptions& given) {
    dedup::FileOptions out = given.files;
    OptionReader read;
    read(option::kShortFormat, given.format, name_in(kFormatNames),
         [&](std::size_t i) { out.format = kFormats.at(i).second; });
    read(option::kStart, given.start, dedup::parse_date_time,
         [&](Nanoseconds time) { out.selection.start = time; });
    read(option::kStop, given.stop, dedup::parse_date_time,
         [&](Nanoseconds time) { out.selection.stop = time; });
    read(option::kSplitPackets, given.split_packets, parse_positive,
         [&](std::uint64_t n) { out.split.packets = n; });
    read(option::kSplitSeconds, given.split_seconds, parse_seconds,
         [&](Nanoseconds time) { out.split.interval = time; });
    UNECHO_TRY(read.status());
    if (out.split.packets != 0 && out.split.interval != 0) {
        return bad_option(option::kSplitPackets, "not together with " + option::kSplitSeconds +
                                                     "; an output is split by one of them");
    }
    if (out.selection.start && out.selection.stop && *out.selection.start > *out.selection.stop) {
        return bad_option(option::kStart,
                          "is after " + option::kStop + "; allowed: a start before the stop");
    }
    if (given.dry_run) {
        out.output.reset();
    }
    return out;
}

Result<dedup::Options> read_options(const PcapOptions& given) {
    dedup::Options out;
    OptionReader read;
    read_window_options(read, given.echo, out);
    read_repeat_options(read, given.repeats, out);
    read(option::kPasses, given.passes, parse_positive, [&](std::uint64_t n) {
        out.passes = static_cast<unsigned>(std::min<std::uint64_t>(n, ~0U));
    });
    read(option::kCount, given.count, parse_whole, [&](std::uint64_t n) { out.count = n; });
    read(option::kEngine, given.engine, name_in(config::kEngineNames),
         [&](std::size_t i) { out.engine = static_cast<config::Engine>(i); });
    read(option::kMaxFalseDrop, given.max_false_drop, parse_probability,
         [&](double p) { out.max_false_drop = p; });
    read(option::kMemory, given.memory, parse_size, [&](std::uint64_t n) { out.memory = n; });
    read(option::kIgnoreBytes, given.ignore_bytes, parse_ignored,
         [&](std::uint32_t n) { out.ignored_bytes = n; });
    read(option::kShard, given.shard, parse_shard, [&](const Shard& shard) { out.shard = shard; });
    out.editcap = given.editcap;
    out.audit = given.audit;
    UNECHO_TRY(read.status());
    const auto seed = read_seed(given.seed);
    UNECHO_TRY(seed);
    out.seed = *seed;
    return out;
}

Status check_outputs(const PcapOptions& given) {
    const dedup::FileOptions& files = given.files;
    if (given.dry_run && (files.dropped || files.pairs || files.mark)) {
        return bad_option(option::kDryRun,
                          fmt::format("writes nothing; leave out {}, {} and {}", option::kDropped,
                                      option::kPairs, option::kMark));
    }
    if (!given.dry_run && !files.output && !files.dropped && !files.pairs) {
        return bad_option("pcap", fmt::format("{} OUT is needed, or {}, {} or {}", option::kOutput,
                                              option::kDryRun, option::kDropped, option::kPairs));
    }
    for (const OptionText& path : {files.output, files.dropped, files.pairs}) {
        if (given.json && path && capture::is_same_output(capture::kStandardStream, *path)) {
            return bad_option(option::kJson,
                              "goes to standard output; write the capture to a file");
        }
    }
    return {};
}

Status tell(const dedup::Summary& summary, const PcapOptions& given) {
    for (const std::string& warning : summary.warnings) {
        std::fprintf(stderr, "unecho: warning: %s\n", warning.c_str());
    }
    if (given.json) {
        return print_json([&] { return dedup::to_json(summary); });
    }
    if (!given.quiet) {
        std::fputs(dedup::to_text(summary).c_str(), stderr);
    }
    return {};
}

CommandResult pcap(const PcapOptions& given) {
    UNECHO_TRY(check_outputs(given));
    const auto options = read_options(given);
    UNECHO_TRY(options);
    const auto threads = threads_of(given.jobs);
    UNECHO_TRY(threads);
    const auto files = read_files(given);
    UNECHO_TRY(files);
    end_cleanly_on_signals();
    ProgressLine line(!given.quiet);
    const auto summary =
        dedup::run_pcap(*files, *options, {*threads > 1, inflating_threads(*threads, given.jobs)},
                        [&](const auto& so_far) { line.show(so_far.input); });
    line.clear();
    UNECHO_TRY(summary);
    const Status told = tell(*summary, given);
    return told && summary->incomplete ? incomplete_input() : told;
}

void add_deciding_options(CLI::App& command, PcapOptions& options) {
    add_window_options(command, options.echo, deciding_words());
    add_repeat_options(command, options.repeats);
    command
        .add_option(option::kPasses, options.passes,
                    "How often to read the inputs: 2 (default for the files of one tap) learns "
                    "first whose packets a mirror shows twice; 1 reads once")
        ->type_name("N");
    command
        .add_option(option::kCount, options.count, "An echo repeats one of the N packets before it")
        ->type_name("N");
    command.add_flag(
        option::kEditcap, options.editcap,
        fmt::format(
            "Drop exactly the packets that editcap -w ({}) or -D ({}) would drop, much faster",
            option::kWindow, option::kCount));
    command
        .add_option(option::kEngine, options.engine,
                    fmt::format("auto (default): exact as long as {} allows, then a filter",
                                option::kMemory))
        ->type_name(one_of(config::kEngineNames));
    command
        .add_option(option::kMaxFalseDrop, options.max_false_drop,
                    fmt::format("For a filter: keep a packet whose match is an accident with a "
                                "greater chance than this ({})",
                                config::kDefaultFalseDropText))
        ->type_name("P");
    command
        .add_option(option::kMemory, options.memory,
                    "Use at most this much in all (" + size_literal(dedup::kDefaultMemory) + ")")
        ->type_name("SIZE");
    add_seed_option(command, options.seed,
                    "A filter with the same seed drops the same packets; shards need the same one");
    command
        .add_option(
            option::kShard, options.shard,
            "Read all packets, decide and write the I-th of N parts; with " + option::kSeedFile)
        ->type_name("I/N");
    command.add_flag(option::kAudit, options.audit,
                     "Measure false drops and misses on an exactly known sample, in an eighth of " +
                         option::kMemory);
}

void add_selection_options(CLI::App& command, PcapOptions& options) {
    command
        .add_option(
            both(option::kStart, option::kLongStart), options.start,
            "Read only packets of this time and later: 2026-01-02T03:04:05Z, or seconds since 1970")
        ->type_name("TIME");
    command
        .add_option(both(option::kStop, option::kLongStop), options.stop,
                    "Read only packets before this time")
        ->type_name("TIME");
    command
        .add_option(option::kFilter, options.files.selection.filter,
                    "Read only packets that match this expression of pcap-filter(7)")
        ->type_name("EXPR");
    command
        .add_option(
            both(option::kShortIgnoreBytes, option::kIgnoreBytes), options.ignore_bytes,
            "With " + option::kKey + " frame: ignore so many bytes at the beginning of each frame")
        ->type_name("N");
}

void add_output_options(CLI::App& command, PcapOptions& options) {
    command
        .add_option(both(option::kShortFormat, option::kFormat), options.format,
                    "Format of written captures: pcap (microseconds), nsecpcap, pcapng")
        ->type_name(one_of(kFormatNames));
    command
        .add_option(both(option::kSplitPackets, option::kLongSplitPackets), options.split_packets,
                    "Split the output of " + option::kOutput + " into files of so many packets")
        ->type_name("N");
    command
        .add_option(both(option::kSplitSeconds, option::kLongSplitSeconds), options.split_seconds,
                    "Split the output of " + option::kOutput + " into files of so many seconds")
        ->type_name("SECONDS");
}

}  // namespace

void add_pcap(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "pcap", "Remove duplicate packets from captures: pcap, pcapng, snoop, also compressed");
    const auto options = std::make_shared<PcapOptions>();
    dedup::FileOptions& files = options->files;
    command->add_option("IN", files.inputs, "Captures, merged by time; - is standard input")
        ->required();
    command
        ->add_option(both(option::kOutput, option::kLongOutput), files.output,
                     "Write the packets that are kept: .pcap or .pcapng, also .gz, .zst, .lz4; - "
                     "is standard output")
        ->type_name("FILE");
    command->add_option(option::kDropped, files.dropped, "Write the echoes to this capture")
        ->type_name("FILE");
    command
        ->add_option(option::kPairs, files.pairs,
                     "Write the echoes as CSV: number, number of the original, age")
        ->type_name("FILE");
    command->add_flag(option::kMark, files.mark,
                      "Keep the echoes in the output, a .pcapng, each with a comment");
    command->add_flag(option::kDryRun, options->dry_run, "Write nothing but the summary");
    add_output_options(*command, *options);
    add_selection_options(*command, *options);
    add_deciding_options(*command, *options);
    command->add_flag(option::kRecover, files.recover, kRecoverHelp);
    command
        ->add_option(option::kJobs, options->jobs,
                     "With 1 one thread; with more, one reads ahead, and so many inflate the "
                     "members of gzip files")
        ->type_name("N");
    command->add_flag(option::kJson, options->json, "Print the summary as JSON on standard output");
    command->add_flag(option::kQuiet, options->quiet,
                      "Print no summary and no progress, only warnings");
    command->callback([options, &action] { action = [options] { return pcap(*options); }; });
}

}  // namespace unecho::app
