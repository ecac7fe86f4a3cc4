// SPDX-License-Identifier: BSD-3-Clause
// unecho compare A B...: which packets of one point never came at another, and how late the others
// were.
#include "captures/compare/compare.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/option_names.h"
#include "base/units.h"
#include "captures/compare/report/comparison_json.h"
#include "captures/compare/report/comparison_view.h"
#include "captures/dedup/check_files.h"
#include "captures/standard_streams.h"
#include "commands/commands.h"
#include "options/arguments.h"
#include "options/seed_option.h"
#include "options/window_options.h"
#include "terminal/long_run.h"
#include "terminal/print.h"

namespace unecho::app {
namespace {

struct CompareOptions {
    std::vector<std::string> inputs;
    OptionText window;
    OptionText clocks;
    WindowOptions key;  // --tunnels, --vxlan-ports and --key-bytes
    bool nat = false;
    bool every_packet = false;
    bool mirror = false;
    OptionText missing;
    OptionText memory;
    OptionText jobs;
    bool recover = false;
    bool json = false;
    bool verbose = false;
    OptionText html;
    SeedOption seed;
};

Result<Nanoseconds> parse_longest(const std::string& text) {
    const auto time = parse_duration(text);
    if (!time || *time == 0 || *time > compare::kLongestWindow) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("\"{}\"; allowed: a duration above 0, up to {}", text,
                                duration_literal(compare::kLongestWindow)));
    }
    return time;
}

Result<compare::Options> read_options(const CompareOptions& given) {
    compare::Options out;
    out.inputs = given.inputs;
    dedup::Options key;
    OptionReader read;
    read(option::kWindow, given.window, parse_longest, [&](Nanoseconds w) { out.window = w; });
    read(option::kClocks, given.clocks, name_in(compare::kClocksNames),
         [&](std::size_t i) { out.clocks = static_cast<compare::Clocks>(i); });
    read_window_options(read, given.key, key);
    read(option::kMemory, given.memory, parse_size, [&](std::uint64_t n) { out.memory = n; });
    UNECHO_TRY(read.status());
    if (given.key.tunnels) {
        out.tunnels = key.tunnels;
    }
    out.vxlan_ports = key.vxlan_ports;
    out.key_bytes = key.key_bytes.value_or(0);
    out.nat = given.nat;
    out.every_packet = given.every_packet;
    out.mirror = given.mirror;
    out.missing = given.missing;
    out.recover = given.recover;
    const std::uint64_t least = compare::least_memory(given.inputs.size());
    if (out.memory < least) {
        return bad_option(option::kMemory,
                          fmt::format("\"{}\" is too little; allowed here: {} or more",
                                      *given.memory, size_literal(least)));
    }
    const auto threads = threads_of(given.jobs);
    UNECHO_TRY(threads);
    out.threads = *threads;
    const auto seed = read_seed(given.seed);
    UNECHO_TRY(seed);
    out.seed = *seed;
    return out;
}

Status check_outputs(const CompareOptions& given) {
    std::vector<dedup::NamedOutput> outputs;
    if (given.missing) {
        outputs.push_back({option::kMissing, *given.missing});
    }
    if (given.html) {
        outputs.push_back({option::kHtml, *given.html});
    }
    std::string answer;  // what is printed
    if (given.json) {
        answer = option::kJson;
    } else if (given.verbose || !given.html) {
        answer = "the answer";
    }
    for (const dedup::NamedOutput& one : outputs) {
        if (!answer.empty() && capture::is_same_output(capture::kStandardStream, one.path)) {
            return bad_option(one.option,
                              fmt::format("{} goes to standard output; allowed: a file", answer));
        }
    }
    return dedup::check_outputs(given.inputs, outputs);
}

Status answer(const CompareOptions& given, const compare::Comparison& comparison) {
    if (given.html) {
        UNECHO_TRY(write_file(*given.html, compare::to_html(comparison)));
    }
    if (given.json) {
        return print_json([&] { return compare::to_json(comparison); });
    }
    return given.html && !given.verbose
               ? Status()
               : print(given.verbose ? compare::to_text(comparison)
                                     : compare::to_summary_text(comparison));
}

CommandResult compare_them(const CompareOptions& given) {
    UNECHO_TRY(check_outputs(given));
    const auto options = read_options(given);
    UNECHO_TRY(options);
    end_cleanly_on_signals();
    ProgressLine line(true);
    const auto compared = compare::compare_captures(
        *options, [&](const capture::Source::Progress& progress) { line.show(progress); });
    line.clear();
    UNECHO_TRY(compared);
    const Status told = answer(given, *compared);
    return told && compared->incomplete ? incomplete_input() : told;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "compare",
        "Say which packets of one point never came at another, and how late the others "
        "were");
    const auto options = std::make_shared<CompareOptions>();
    command
        ->add_option("IN", options->inputs,
                     "Captures of two points or more, in the order of the path if it is known; or "
                     "one capture of several interfaces")
        ->required();
    command
        ->add_option(option::kWindow, options->window,
                     fmt::format("A packet that takes longer is missing ({})",
                                 duration_literal(compare::kDefaultWindow)))
        ->type_name("DURATION");
    command
        ->add_option(option::kClocks, options->clocks,
                     "Take the points' clocks as equal if nothing speaks against it (auto, "
                     "default), take them as equal, or estimate their difference")
        ->type_name(one_of(compare::kClocksNames));
    command
        ->add_option(option::kTunnels, options->key.tunnels,
                     "Encapsulations to look into: all (default), none, or names with commas "
                     "between, as of unecho pcap")
        ->type_name("LIST");
    command
        ->add_option(option::kVxlanPorts, options->key.vxlan_ports,
                     "UDP ports of VXLAN in addition to its own, with commas between")
        ->type_name("LIST");
    command
        ->add_option(option::kKeyBytes, options->key.key_bytes,
                     "Of each packet, from its IP header, so many bytes count; for captures that "
                     "cut packets")
        ->type_name("N");
    command->add_flag(option::kNat, options->nat,
                      "Recognise packets whose addresses and ports changed by their IDs, lengths "
                      "and payloads; this is no proof");
    command->add_flag(option::kEveryPacket, options->every_packet,
                      "Each packet of the first point had to come to the second, also those of "
                      "hosts of which no packet came");
    command->add_flag(option::kMirror, options->mirror,
                      "The second point is a mirror of the first: all packets of the first had to "
                      "come to it, in both directions of the traffic");
    command
        ->add_option(option::kMissing, options->missing,
                     "Write the packets that never came to this capture")
        ->type_name("FILE");
    command
        ->add_option(option::kMemory, options->memory,
                     fmt::format("Use at most about this much ({}); with too many packets a part "
                                 "of them is compared",
                                 size_literal(compare::kDefaultMemory)))
        ->type_name("SIZE");
    command
        ->add_option(option::kJobs, options->jobs,
                     "Threads that read (2, or 1 on a single CPU); the result is the same")
        ->type_name("N");
    command->add_flag(option::kRecover, options->recover, kRecoverHelp);
    add_seed_option(*command, options->seed, "Chooses the part of the packets that is compared");
    command->add_flag(both(option::kVerbose, option::kLongVerbose), options->verbose,
                      "Print the whole report, not the answer alone");
    command->add_flag(option::kJson, options->json, "Print JSON");
    command->add_option(option::kHtml, options->html, "Write a page with pictures to this file")
        ->type_name("FILE");
    command->callback(
        [options, &action] { action = [options] { return compare_them(*options); }; });
}

}  // namespace unecho::app
