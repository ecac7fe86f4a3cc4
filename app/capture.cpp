// SPDX-License-Identifier: BSD-3-Clause
// unecho capture -i IF... -w OUT: captures from interfaces, without echoes.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "arguments.h"
#include "base/option_names.h"
#include "base/units.h"
#include "base/utf8.h"
#include "capture/live.h"
#include "capture/live_interfaces.h"
#include "capture/output.h"
#include "capture/standard_streams.h"
#include "commands.h"
#include "exit_status.h"
#include "long_run.h"
#include "offline/run.h"
#include "print.h"
#include "stop_signal.h"
#include "window_options.h"

namespace unecho::app {
namespace {

struct Options {
    offline::Files files;
    capture::LiveOptions live;
    WindowOptions echo;
    Text engine;
    Text memory;
    Text snap;
    Text buffer;
    Text packets;
    Text duration;
    bool not_promiscuous = false;
    bool list = false;
    bool json = false;
    bool quiet = false;
};

Result<capture::LiveOptions> read_live(const Options& given) {
    capture::LiveOptions out = given.live;
    out.promiscuous = !given.not_promiscuous;
    Reading read;
    read(option::kSnap, given.snap, parse_snap,
         [&](std::uint64_t n) { out.snap_length = static_cast<std::uint32_t>(n); });
    read(option::kBuffer, given.buffer, parse_buffer,
         [&](std::uint64_t n) { out.buffer_bytes = n; });
    read(option::kPackets, given.packets, parse_whole, [&](std::uint64_t n) { out.packets = n; });
    read(option::kDuration, given.duration, parse_duration,
         [&](Nanoseconds time) { out.duration = time; });
    if (!read.status()) {
        return tl::unexpected(read.status().error());
    }
    return out;
}

Result<offline::Options> read_options(const Options& given) {
    offline::Options out;
    Reading read;
    read_window_options(read, given.echo, out);
    read(option::kEngine, given.engine, name_in(config::kEngineNames),
         [&](std::size_t i) { out.engine = static_cast<config::Engine>(i); });
    read(option::kMemory, given.memory, parse_size, [&](std::uint64_t n) { out.memory = n; });
    if (!read.status()) {
        return tl::unexpected(read.status().error());
    }
    return out;
}

Status check_outputs(const Options& given) {
    const offline::Files& files = given.files;
    if (given.live.interfaces.empty()) {
        return bad_option("capture", option::kInterface + " IF is needed; " + option::kList +
                                         " lists interfaces");
    }
    if (!files.output && !files.dropped && !files.pairs) {
        return bad_option("capture", option::kWrite + " OUT is needed, or " + option::kDropped +
                                         " or " + option::kPairs);
    }
    for (const Text& path : {files.output, files.dropped, files.pairs}) {
        if (given.json && path && capture::same_output(capture::kStandardStream, *path)) {
            return bad_option(option::kJson,
                              "goes to standard output; write the capture to a file");
        }
    }
    return {};
}

Status tell(const offline::Summary& summary, const capture::LiveReport& report,
            const Options& given) {
    for (const std::string& warning : summary.warnings) {
        std::fprintf(stderr, "unecho: warning: %s\n", warning.c_str());
    }
    if (given.json) {
        nlohmann::ordered_json json = offline::to_json(summary);
        json["interfaces"] = nlohmann::ordered_json::array();
        for (const capture::LiveCounts& one : report) {
            json["interfaces"].push_back({{"name", one.interface},
                                          {"read", one.read},
                                          {"kernel_dropped", one.kernel_dropped},
                                          {"interface_dropped", one.interface_dropped}});
        }
        return print(json.dump(1) + "\n");
    }
    if (given.quiet) {
        return {};
    }
    std::fputs(offline::to_text(summary).c_str(), stderr);
    for (const capture::LiveCounts& one : report) {
        std::fprintf(stderr, "%s: %s read, %s dropped by the kernel, %s by the interface\n",
                     one.interface.c_str(), format_count(one.read).c_str(),
                     format_count(one.kernel_dropped).c_str(),
                     format_count(one.interface_dropped).c_str());
    }
    return {};
}

Status list() {
    const auto found = capture::live_interfaces();
    if (!found) {
        return tl::unexpected(found.error());
    }
    std::string text;
    for (const capture::LiveInterface& one : *found) {
        text += escaped(one.name) + (one.up ? "\tup" : "\tdown") +
                (one.description.empty() ? "" : "\t" + escaped(one.description)) + "\n";
    }
    return print(text);
}

Outcome capture_live(const Options& given) {
    if (given.list) {
        return list();
    }
    const Status outputs = check_outputs(given);
    if (!outputs) {
        return outputs;
    }
    const auto options = read_options(given);
    if (!options) {
        return tl::unexpected(options.error());
    }
    auto live = read_live(given);
    if (!live) {
        return tl::unexpected(live.error());
    }
    offline::Files files = given.files;
    files.live = true;
    files.inputs = live->interfaces;
    live->stop = files.stop = &stop_on_signals_and_hangup();
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    const auto report = std::make_shared<capture::LiveReport>();
    const auto open = [&] { return capture::open_live(*live, report); };
    if (!given.quiet) {
        live->on_begin = [] { std::fputs("unecho: capturing\n", stderr); };
    }
    ProgressLine line(!given.quiet);
    const auto summary = offline::run_live(files, *options, open,
                                           [&](const auto& so_far) { line.show(so_far.input); });
    line.clear();
    if (!summary) {
        return tl::unexpected(summary.error());
    }
    const Status told = tell(*summary, *report, given);
    // A warning has said which interface.
    return told && summary->incomplete ? Outcome::with_status(kFailed.value) : Outcome(told);
}

void add_live_options(CLI::App& command, Options& options) {
    command
        .add_option(both(option::kInterface, option::kLongInterface), options.live.interfaces,
                    "Interfaces to capture from, each with an option of its own; merged by time")
        ->type_name("IF")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command.add_flag(both(option::kList, option::kLongList), options.list,
                     "List the interfaces that there are, and do nothing else");
    command
        .add_option(both(option::kShortFilter, option::kFilter), options.live.filter,
                    "Packets that match this expression of pcap-filter(7) alone")
        ->type_name("EXPR");
    command
        .add_option(both(option::kSnap, option::kLongSnap), options.snap,
                    "So many bytes of each packet; 0 (default): all")
        ->type_name("N");
    command.add_flag(both(option::kNotPromiscuous, option::kLongNotPromiscuous),
                     options.not_promiscuous, "Packets for this host alone");
    command
        .add_option(option::kBuffer, options.buffer,
                    "The kernel's buffer for each interface, as 16MiB")
        ->type_name("SIZE");
    command
        .add_option(both(option::kPackets, option::kLongPackets), options.packets,
                    "End after so many packets, echoes too")
        ->type_name("N");
    command.add_option(option::kDuration, options.duration, "End after so long")
        ->type_name("DURATION");
}

}  // namespace

void add_capture(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("capture", "Capture from interfaces, without DPDK and without echoes");
    const auto options = std::make_shared<Options>();
    offline::Files& files = options->files;
    add_live_options(*command, *options);
    command
        ->add_option(option::kWrite + "," + both(option::kOutput, option::kLongOutput),
                     files.output,
                     "What is kept: .pcap or .pcapng, also .gz, .zst, .lz4; - is standard output")
        ->type_name("FILE");
    command->add_option(option::kDropped, files.dropped, "The echoes, as a capture")
        ->type_name("FILE");
    command
        ->add_option(option::kPairs, files.pairs,
                     "The echoes as CSV: number, number of the original, age")
        ->type_name("FILE");
    command->add_flag(option::kMark, files.mark,
                      "Echoes stay in the output, a .pcapng, each with a comment");
    add_window_options(*command, options->echo,
                       {.key = "What makes packets the same",
                        .non_ip = "Frames without an IP packet; with frame equal ones are echoes",
                        .tunnels = "Encapsulations to look into, for the key of the packet inside",
                        .window = "An echo is younger than this",
                        .policy = "With refresh an echo prolongs the window",
                        .first = "Packets of a flow that pass in each window, with a flow key"});
    command
        ->add_option(
            option::kEngine, options->engine,
            "auto (default): exact as long as " + option::kMemory + " allows, then a filter")
        ->type_name(one_of(config::kEngineNames));
    command
        ->add_option(option::kMemory, options->memory,
                     "At most this much in all (" + format_size(offline::kDefaultMemory) + ")")
        ->type_name("SIZE");
    command->add_flag(option::kJson, options->json, "The summary as JSON, on standard output");
    command->add_flag(option::kQuiet, options->quiet,
                      "No summary and no progress; warnings remain");
    command->callback(
        [options, &action] { action = [options] { return capture_live(*options); }; });
}

}  // namespace unecho::app
