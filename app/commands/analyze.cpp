// SPDX-License-Identifier: BSD-3-Clause
// unecho analyze IN [IN...]: which duplicates are in captures, why, and what to configure.
#include "captures/analyze/analyze.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/option_names.h"
#include "base/os/memory_reserve.h"
#include "base/shard.h"
#include "base/units.h"
#include "captures/analyze/analysis_state.h"
#include "captures/analyze/report/report_json.h"
#include "captures/analyze/report/report_text.h"
#include "captures/dedup/check_files.h"
#include "captures/open_captures.h"
#include "captures/output/output.h"
#include "captures/standard_streams.h"
#include "commands/commands.h"
#include "commands/what_if.h"
#include "options/arguments.h"
#include "options/seed_option.h"
#include "terminal/long_run.h"
#include "terminal/print.h"

namespace unecho::app {
namespace {

struct AnalyzeOptions {
    std::vector<std::string> inputs;
    OptionText memory;
    OptionText jobs;
    bool recover = false;
    bool json = false;
    bool text = false;
    bool verbose = false;
    OptionText toml;
    OptionText html;
    bool merge = false;
    SeedOption seed;
    OptionText shard;
    WindowOptions what_if;
    RepeatOptions repeats;

    [[nodiscard]] bool asks() const { return what_if.any() || repeats.any(); }
};

// This fraction of the memory is for the what-if configuration, if there is one.
constexpr std::uint64_t kAskedPart = 4;

Result<std::uint64_t> memory_of(const AnalyzeOptions& options) {
    std::uint64_t memory = dedup::kDefaultMemory;
    OptionReader read;
    read(option::kMemory, options.memory, parse_size, [&](std::uint64_t n) { memory = n; });
    UNECHO_TRY(read.status());
    if (memory < analyze::kMinMemory) {
        return bad_option(option::kMemory,
                          fmt::format("\"{}\" is too little; allowed: {} or more", *options.memory,
                                      size_literal(analyze::kMinMemory)));
    }
    return memory;
}

// Return the memory for remembered packets. The program itself and the buffers of few inputs come
// on top of --memory. The buffers of many inputs, or of one that takes much to decompress, are
// subtracted from it.
Result<std::uint64_t> memory_to_remember(std::uint64_t memory, std::uint64_t asked,
                                         const capture::MemoryBudget& budget) {
    const std::uint64_t inputs =
        std::max(budget.reserved(), dedup::kProgramBytes) - dedup::kProgramBytes;
    const std::uint64_t rest = memory - asked;
    const std::uint64_t least = analyze::kMinMemory / kAskedPart * (kAskedPart - 1);
    if (rest < inputs + (asked == 0 ? analyze::kMinMemory : least)) {
        const std::uint64_t needed =
            asked == 0 ? inputs : (inputs + kAskedPart - 2) / (kAskedPart - 1) * kAskedPart;
        return bad_option(option::kMemory, fmt::format("{} is too little; allowed here: {} or more",
                                                       format_size(memory),
                                                       size_literal(needed + analyze::kMinMemory)));
    }
    return rest - inputs;
}

// Return true if the path is standard output, under any name.
bool printed(const OptionText& path) {
    return path && capture::is_same_output(capture::kStandardStream, *path);
}

// Check that at most one answer goes to standard output, each other one to its own file, and that
// no input is overwritten.
Status check_outputs(const AnalyzeOptions& options) {
    if (int{options.json} + int{options.text || options.verbose} + int{printed(options.toml)} +
            int{printed(options.html)} >
        1) {
        return bad_option("analyze",
                          fmt::format("only one of {}, {}, {} - and {} - can go to standard output",
                                      option::kText, option::kJson, option::kToml, option::kHtml));
    }
    std::vector<dedup::NamedOutput> outputs;
    for (const auto& [option, path] :
         {std::pair{option::kToml, &options.toml}, std::pair{option::kHtml, &options.html}}) {
        if (path->has_value()) {
            outputs.push_back({option, **path});
        }
    }
    return dedup::check_outputs(options.inputs, outputs);
}

Status answer(const AnalyzeOptions& options, const analyze::Report& report) {
    if (options.toml) {
        UNECHO_TRY(write_file(*options.toml, report.recommendation.toml));
    }
    if (options.html) {
        UNECHO_TRY(write_file(*options.html, analyze::to_html(report)));
    }
    if (options.json) {
        const MemoryReserve reserve;  // as in print_json()
        return print(analyze::to_json_text(report));
    }
    const bool asked = options.text || options.verbose || (!options.toml && !options.html);
    return asked ? print(options.verbose ? analyze::to_text(report)
                                         : analyze::to_summary_text(report))
                 : Status{};
}

// The what-if configuration, if one is given. It sees the captures merged as `unecho pcap` merges
// them.
struct Question {
    std::optional<dedup::Options> wanted;  // absent: no configuration was given
    std::uint64_t memory = 0;
    Nanoseconds jump = analyze::kEpochJump;
    std::vector<std::uint16_t> vxlan_ports;
};

Result<Question> question_of(const AnalyzeOptions& options, std::uint64_t memory) {
    Question out;
    if (!options.asks()) {
        return out;
    }
    auto wanted = read_what_if(options.what_if, options.repeats);
    UNECHO_TRY(wanted);
    out.memory = memory / kAskedPart;
    out.jump = wanted->jump();
    out.vxlan_ports = wanted->vxlan_ports;
    out.wanted = std::move(*wanted);
    return out;
}

// The parameters that all shards share.
struct Division {
    Shard shard;
    hash::Secret secret;
};

Result<Division> division_of(const AnalyzeOptions& options) {
    Division out;
    OptionReader read;
    read(option::kShard, options.shard, parse_shard, [&](const Shard& one) { out.shard = one; });
    UNECHO_TRY(read.status());
    const auto seed = read_seed(options.seed);
    UNECHO_TRY(seed);
    if (options.shard && !*seed) {
        return bad_option(option::kShard, "needs " + option::kSeedFile +
                                              ", the same for all shards, by which all agree "
                                              "whose a packet is");
    }
    // A what-if configuration has keys of its own, which may assign a packet to another shard.
    if (options.shard && options.asks()) {
        return bad_option(option::kShard,
                          "is for reports of all keys and windows; what one configuration would do "
                          "is asked without it");
    }
    if (*seed && !options.shard) {
        return bad_option(options.seed.name(), "is for " + option::kShard);
    }
    const auto secret = *seed ? hash::secret_from_seed(**seed) : hash::random_secret();
    UNECHO_TRY(secret);
    out.secret = *secret;
    return out;
}

Result<analyze::Report> read_captures(const AnalyzeOptions& options, std::uint64_t memory) {
    const auto threads = threads_of(options.jobs);
    UNECHO_TRY(threads);
    const auto division = division_of(options);
    UNECHO_TRY(division);
    const hash::Secret* const secret = &division->secret;
    const auto question = question_of(options, memory);
    UNECHO_TRY(question);
    const auto budget = std::make_shared<capture::MemoryBudget>(
        memory + dedup::kProgramBytes, question->memory + analyze::kMinMemory);
    const auto source =
        capture::open_captures(options.inputs, question->jump, budget, options.recover,
                               inflating_threads(*threads, options.jobs));
    UNECHO_TRY(source);
    const Result<std::uint64_t> to_remember = memory_to_remember(memory, question->memory, *budget);
    UNECHO_TRY(to_remember);
    std::unique_ptr<analyze::PacketRemover> remover;
    if (question->wanted) {
        auto made = make_pcap_remover(*question->wanted, question->memory, *secret,
                                      (*source)->interfaces().size());
        UNECHO_TRY(made);
        remover = std::move(*made);
    }
    end_cleanly_on_signals();
    ProgressLine line(true);
    auto report = analyze::analyze(
        **source, {options.inputs, *to_remember, *secret,
                   [&](const capture::Source& from) { line.show(from.progress()); },
                   question->vxlan_ports, remover.get(), *threads, division->shard});
    line.clear();
    return report;
}

// Read at most `most` + 1 bytes; the path may be a pipe.
Result<std::string> text_in(const std::string& path, std::uint64_t most) {
    std::ifstream file(path, std::ios::binary);
    std::string text;
    std::vector<char> block(std::size_t{1} << 20);
    while (file && text.size() <= most) {
        file.read(block.data(), static_cast<std::streamsize>(block.size()));
        text.append(block.data(), static_cast<std::size_t>(file.gcount()));
    }
    std::error_code error;
    if (!file.is_open() || file.bad() || std::filesystem::is_directory(path, error)) {
        return fail(Errc::kIo, path + ": cannot be read");
    }
    return text;
}

Status check_merge(const AnalyzeOptions& options) {
    for (const auto& [given, name] :
         {std::pair{options.jobs.has_value(), option::kJobs},
          std::pair{options.recover, option::kRecover},
          std::pair{options.shard.has_value(), option::kShard},
          std::pair{options.seed.number.has_value(), option::kSeed},
          std::pair{options.seed.file.has_value(), option::kSeedFile}}) {
        if (given) {
            return bad_option(option::kMerge, "reads reports, no captures; leave out " + name);
        }
    }
    if (options.asks()) {
        return bad_option(option::kMerge,
                          "reads reports, no captures; ask where they are made, each with the same "
                          "options");
    }
    return {};
}

CommandResult merge_reports(const AnalyzeOptions& options) {
    UNECHO_TRY(check_merge(options));
    UNECHO_TRY(check_outputs(options));
    const Result<std::uint64_t> memory = memory_of(options);
    UNECHO_TRY(memory);
    analyze::ReportMerger merger(*memory);
    for (const std::string& path : options.inputs) {
        const auto text = text_in(path, merger.room());
        UNECHO_TRY(text);
        UNECHO_TRY(merger.add(path, *text));
    }
    const auto merged = std::make_shared<const analyze::AnalysisState>(merger.take());
    const analyze::Report report = analyze::make_report(merged);
    const bool incomplete =
        report.incomplete ||
        std::any_of(merged->captures.begin(), merged->captures.end(),
                    [](const analyze::CaptureInfo& one) { return !one.missing().empty(); });
    const Status told = answer(options, report);
    return told && incomplete ? incomplete_input() : told;
}

CommandResult analyze_captures(const AnalyzeOptions& options) {
    if (options.merge) {
        return merge_reports(options);
    }
    UNECHO_TRY(check_outputs(options));
    const Result<std::uint64_t> memory = memory_of(options);
    UNECHO_TRY(memory);
    const auto report = read_captures(options, *memory);
    UNECHO_TRY(report);
    const Status told = answer(options, *report);
    return told && report->incomplete ? incomplete_input() : told;
}

}  // namespace

void add_analyze(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "analyze", "Report which duplicates are in captures, why, and what to configure");
    const auto options = std::make_shared<AnalyzeOptions>();
    command
        ->add_option("IN", options->inputs,
                     "Captures: pcap, pcapng or snoop, also .gz, .zst, .lz4; - for standard input. "
                     "Several, as of several taps, are merged by time")
        ->required();
    command
        ->add_option(option::kMemory, options->memory,
                     "Use at most about this much (" + size_literal(dedup::kDefaultMemory) + ")")
        ->type_name("SIZE");
    command
        ->add_option(option::kJobs, options->jobs,
                     "Threads that read and count (2, or 1 on a single CPU); the report is the "
                     "same")
        ->type_name("N");
    command->add_flag(option::kRecover, options->recover, kRecoverHelp);
    command
        ->add_option(option::kShard, options->shard,
                     "Read all packets, count the I-th of N parts; with " + option::kSeedFile)
        ->type_name("I/N");
    add_seed_option(*command, options->seed, "Shards need the same one");
    command->add_flag(option::kMerge, options->merge,
                      "Print the report of the whole: IN are reports that " + option::kJson +
                          " printed, of shards or of several captures");
    command->add_flag(both(option::kVerbose, option::kLongVerbose), options->verbose,
                      "Print the whole report, not the answer alone");
    command->add_flag(option::kText, options->text,
                      fmt::format("Print the report; without {}, {} and {} it is printed anyway",
                                  option::kJson, option::kToml, option::kHtml));
    command->add_flag(option::kJson, options->json, "Print JSON");
    command
        ->add_option(option::kToml, options->toml,
                     "Write the recommended configuration to this file; - prints it")
        ->type_name("FILE");
    command->add_option(option::kHtml, options->html, "Write a page with pictures to this file")
        ->type_name("FILE");
    add_what_if_options(*command, options->what_if, options->repeats);
    command->callback(
        [options, &action] { action = [options] { return analyze_captures(*options); }; });
}

}  // namespace unecho::app
