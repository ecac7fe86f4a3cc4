// SPDX-License-Identifier: BSD-3-Clause
// unecho capture -i IF... -w OUT: capture from interfaces without duplicates.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/option_names.h"
#include "base/units.h"
#include "base/utf8.h"
#include "captures/dedup/pcap_run.h"
#include "captures/live/live_interfaces.h"
#include "captures/live/live_source.h"
#include "captures/output/output.h"
#include "captures/standard_streams.h"
#include "commands/commands.h"
#include "options/arguments.h"
#include "options/exit_status.h"
#include "options/format_option.h"
#include "options/window_options.h"
#include "terminal/long_run.h"
#include "terminal/print.h"
#include "terminal/stop_signal.h"
#include "terminal/user.h"

namespace unecho::app {
namespace {

struct CaptureOptions {
    dedup::FileOptions files;
    capture::LiveOptions live;
    WindowOptions echo;
    RepeatOptions repeats;
    OptionText engine;
    OptionText memory;
    OptionText snap;
    OptionText buffer;
    OptionText packets;
    OptionText duration;
    OptionText file_size;
    OptionText file_packets;
    OptionText file_seconds;
    OptionText file_count;
    OptionText user;
    OptionText format;
    OptionText max_false_drop;
    bool audit = false;
    bool not_promiscuous = false;
    bool list = false;
    bool json = false;
    bool quiet = false;
};

Result<capture::LiveOptions> read_live(const CaptureOptions& given) {
    capture::LiveOptions out = given.live;
    out.promiscuous = !given.not_promiscuous;
    OptionReader read;
    read(option::kSnap, given.snap, parse_snap,
         [&](std::uint64_t n) { out.snap_length = static_cast<std::uint32_t>(n); });
    read(option::kBuffer, given.buffer, parse_buffer,
         [&](std::uint64_t n) { out.buffer_bytes = n; });
    read(option::kPackets, given.packets, parse_whole, [&](std::uint64_t n) { out.packets = n; });
    read(option::kDuration, given.duration, parse_duration,
         [&](Nanoseconds time) { out.duration = time; });
    UNECHO_TRY(read.status());
    return out;
}

Result<dedup::Options> read_options(const CaptureOptions& given) {
    dedup::Options out;
    OptionReader read;
    read_window_options(read, given.echo, out);
    read_repeat_options(read, given.repeats, out);
    read(option::kEngine, given.engine, name_in(config::kEngineNames),
         [&](std::size_t i) { out.engine = static_cast<config::Engine>(i); });
    read(option::kMaxFalseDrop, given.max_false_drop, parse_probability,
         [&](double p) { out.max_false_drop = p; });
    read(option::kMemory, given.memory, parse_size, [&](std::uint64_t n) { out.memory = n; });
    out.audit = given.audit;
    UNECHO_TRY(read.status());
    return out;
}

// Parse "100", millions of bytes as for tcpdump, or a size such as "100MiB".
Result<std::uint64_t> parse_file_size(const std::string& text) {
    constexpr std::uint64_t kMillion = 1'000'000;
    const auto millions = parse_whole(text);
    if (millions && *millions != 0 && *millions < std::uint64_t{1} << 40U) {
        return *millions * kMillion;
    }
    const auto size = parse_size(text);
    return size && *size != 0 && !millions
               ? size
               : Result<std::uint64_t>(fail(Errc::kInvalidArgument,
                                            "\"" + text +
                                                "\"; allowed: millions of bytes, 1 or more, or a "
                                                "size as in 64MiB"));
}

Result<Nanoseconds> parse_file_seconds(const std::string& text) {
    const auto seconds = parse_whole(text);
    constexpr std::uint64_t kMost = std::uint64_t{1} << 32U;
    return seconds && *seconds != 0 && *seconds < kMost
               ? Result<Nanoseconds>(*seconds * kSecond)
               : fail(Errc::kInvalidArgument, "\"" + text + "\"; allowed: seconds, 1 or more");
}

Result<capture::Rotation> read_rotation(const CaptureOptions& given) {
    capture::Rotation out;
    OptionReader read;
    read(option::kFileSize, given.file_size, parse_file_size,
         [&](std::uint64_t n) { out.bytes = n; });
    read(option::kLongSplitPackets, given.file_packets, parse_positive,
         [&](std::uint64_t n) { out.packets = n; });
    read(option::kFileSeconds, given.file_seconds, parse_file_seconds,
         [&](Nanoseconds time) { out.interval = time; });
    read(option::kFileCount, given.file_count, parse_positive,
         [&](std::uint64_t n) { out.files = n; });
    UNECHO_TRY(read.status());
    if (out.files != 0 && out.none()) {
        return bad_option(option::kFileCount,
                          fmt::format("only with {}, {} or {}", option::kFileSize,
                                      option::kLongSplitPackets, option::kFileSeconds));
    }
    return out;
}

Status check_outputs(const CaptureOptions& given) {
    const dedup::FileOptions& files = given.files;
    if (given.live.interfaces.empty()) {
        return bad_option("capture", fmt::format("{} IF is needed; {} lists interfaces",
                                                 option::kInterface, option::kList));
    }
    if (!files.output && !files.dropped && !files.pairs) {
        return bad_option("capture", fmt::format("{} OUT is needed, or {} or {}", option::kWrite,
                                                 option::kDropped, option::kPairs));
    }
    for (const OptionText& path : {files.output, files.dropped, files.pairs}) {
        if (given.json && path && capture::is_same_output(capture::kStandardStream, *path)) {
            return bad_option(option::kJson,
                              "goes to standard output; write the capture to a file");
        }
    }
    return {};
}

std::string list_of(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "" : ", ") + escaped(name);
    }
    return text;
}

std::string text_of(const capture::LiveStats& report) {
    std::string text;
    for (const capture::LiveInterfaceStats& one : report) {
        text += fmt::format("{}: {} read, {} dropped by the kernel, {} by the interface\n",
                            one.interface, format_count(one.read), format_count(one.kernel_dropped),
                            format_count(one.interface_dropped));
    }
    return text;
}

Status tell(const dedup::Summary& summary, const capture::LiveStats& report,
            const CaptureOptions& given) {
    for (const std::string& warning : summary.warnings) {
        std::fprintf(stderr, "unecho: warning: %s\n", warning.c_str());
    }
    if (given.json) {
        return print_json([&] {
            nlohmann::ordered_json json = dedup::to_json(summary);
            json["interfaces"] = nlohmann::ordered_json::array();
            for (const capture::LiveInterfaceStats& one : report) {
                json["interfaces"].push_back({{"name", one.interface},
                                              {"read", one.read},
                                              {"kernel_dropped", one.kernel_dropped},
                                              {"interface_dropped", one.interface_dropped}});
            }
            return json;
        });
    }
    if (given.quiet) {
        return {};
    }
    std::fputs(dedup::to_text(summary).c_str(), stderr);
    std::fputs(text_of(report).c_str(), stderr);
    return {};
}

Status list() {
    const auto found = capture::live_interfaces();
    UNECHO_TRY(found);
    std::string text;
    for (const capture::LiveInterface& one : *found) {
        text += escaped(one.name) + (one.up ? "\tup" : "\tdown") +
                (one.description.empty() ? "" : "\t" + escaped(one.description)) + "\n";
    }
    return print(text);
}

// Open the interfaces, then switch to the user, before any file is opened.
Result<std::unique_ptr<capture::Source>> open_as(const std::optional<User>& user,
                                                 const capture::LiveOptions& live,
                                                 std::shared_ptr<capture::LiveStats> report,
                                                 capture::LiveStatsRequest asked) {
    auto opened = capture::open_live(live, std::move(report), std::move(asked));
    if (opened && user) {
        if (const Status switched = app::switch_to_user(*user); !switched) {
            return bad_option(option::kUser, switched.error().context);
        }
    }
    return opened;
}

// Shows progress, and counts on SIGUSR1, during a capture. One thread reads packets and answers
// requests for the counts of interfaces, another decides packets and reports progress; both print.
class Meanwhile {
  public:
    Meanwhile(bool shows_progress, const std::atomic<unsigned>& signals)
        : line_(shows_progress), signals_(signals) {}

    // The source answers whenever this number has changed.
    [[nodiscard]] capture::LiveStatsRequest request() {
        return {&requests_, [this](const capture::LiveStats& stats) { take(stats); }};
    }

    // Called by the thread that decides.
    void tell(const dedup::RunProgress& so_far) {
        const std::lock_guard lock(mutex_);
        so_far_ = so_far;
        const unsigned signals = signals_.load(std::memory_order_relaxed);
        const bool is_due = line_.is_due();
        if (is_due || signals != signals_seen_) {
            requests_.fetch_add(1, std::memory_order_relaxed);
        }
        signals_seen_ = signals;
        if (is_due) {
            line_.show(capture_progress_text(so_far.packets, so_far.echoes, drops_));
        }
    }
    void end() {
        const std::lock_guard lock(mutex_);
        line_.clear();
    }

  private:
    // Called by the thread that reads. A signal that came before the request is answered with it.
    void take(const capture::LiveStats& stats) {
        const std::lock_guard lock(mutex_);
        drops_ = 0;
        for (const capture::LiveInterfaceStats& one : stats) {
            drops_ += one.kernel_dropped + one.interface_dropped;
        }
        const unsigned signals = signals_.load(std::memory_order_relaxed);
        if (signals != signals_told_) {
            signals_told_ = signals;
            line_.clear();
            std::fprintf(stderr, "unecho: %s packets so far, of these %s echoes\n%s",
                         format_count(so_far_.packets).c_str(),
                         format_count(so_far_.echoes).c_str(), text_of(stats).c_str());
        }
    }

    std::mutex mutex_;  // guards all below
    ProgressLine line_;
    dedup::RunProgress so_far_;
    std::uint64_t drops_ = 0;
    std::atomic<unsigned> requests_{0};
    const std::atomic<unsigned>& signals_;
    unsigned signals_seen_ = 0;
    unsigned signals_told_ = 0;
};

Result<dedup::FileOptions> read_files(const CaptureOptions& given) {
    dedup::FileOptions out = given.files;
    OptionReader read;
    read(option::kFormat, given.format, name_in(kFormatNames),
         [&](std::size_t i) { out.format = kFormats.at(i).second; });
    UNECHO_TRY(read.status());
    const auto rotation = read_rotation(given);
    UNECHO_TRY(rotation);
    out.rotation = *rotation;
    out.live = true;
    return out;
}

CommandResult capture_live(const CaptureOptions& given) {
    if (given.list) {
        return list();
    }
    UNECHO_TRY(check_outputs(given));
    const auto options = read_options(given);
    auto live = read_live(given);
    auto files = read_files(given);
    std::optional<User> user;
    OptionReader read;
    read(option::kUser, given.user, find_user, [&](const User& found) { user = found; });
    UNECHO_TRY(options);
    UNECHO_TRY(live);
    UNECHO_TRY(files);
    UNECHO_TRY(read.status());
    files->inputs = live->interfaces;
    live->stop = files->stop = &stop_on_signals_and_hangup();
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    const auto report = std::make_shared<capture::LiveStats>();
    const std::atomic<unsigned>& asked = sigusr1_count();
    Meanwhile meanwhile(!given.quiet, asked);
    const auto open = [&] { return open_as(user, *live, report, meanwhile.request()); };
    if (!given.quiet) {
        live->on_begin = [&live] {
            std::fprintf(stderr, "unecho: capturing on %s\n", list_of(live->interfaces).c_str());
        };
    }
    const auto summary = dedup::run_capture(*files, *options, open, [&](const auto& so_far) {
        meanwhile.tell(so_far);
        if (so_far.full) {
            stop_now();
        }
    });
    meanwhile.end();
    UNECHO_TRY(summary);
    const Status told = tell(*summary, *report, given);
    // A warning has named the interface already.
    return told && summary->incomplete ? CommandResult::with_status(kFailed.value)
                                       : CommandResult(told);
}

void add_live_options(CLI::App& command, CaptureOptions& options) {
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
                    "End after so many packets, counting echoes")
        ->type_name("N");
    command.add_option(option::kDuration, options.duration, "End after so long")
        ->type_name("DURATION");
    command
        .add_option(both(option::kUser, option::kLongUser), options.user,
                    "Change to this user when the interfaces are open; the files are this user's")
        ->type_name("USER");
}

void add_file_options(CLI::App& command, CaptureOptions& options) {
    command
        .add_option(both(option::kFileSize, option::kLongFileSize), options.file_size,
                    "Begin the next file, FILE1, FILE2, when one has more than this: millions of "
                    "bytes, or a size as 64MiB")
        ->type_name("SIZE");
    command
        .add_option(option::kLongSplitPackets, options.file_packets,
                    "Begin the next file after so many packets, named likewise")
        ->type_name("N");
    command
        .add_option(
            both(option::kFileSeconds, option::kLongFileSeconds), options.file_seconds,
            "Begin a file every so many seconds, with a time in its name as strftime(3) formats it")
        ->type_name("N");
    command
        .add_option(both(option::kFileCount, option::kLongFileCount), options.file_count,
                    "Keep so many files: those by size are a ring, those by time end the capture")
        ->type_name("N");
}

}  // namespace

void add_capture(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("capture", "Capture from interfaces without duplicates, without DPDK");
    const auto options = std::make_shared<CaptureOptions>();
    dedup::FileOptions& files = options->files;
    add_live_options(*command, *options);
    command
        ->add_option(option::kWrite + "," + both(option::kOutput, option::kLongOutput),
                     files.output,
                     "Write the packets that are kept: .pcap or .pcapng, also .gz, .zst, .lz4; - "
                     "is standard output")
        ->type_name("FILE");
    command
        ->add_option(option::kFormat, options->format,
                     "Format of written captures: pcap (microseconds), nsecpcap, pcapng")
        ->type_name(one_of(kFormatNames));
    add_file_options(*command, *options);
    command->add_option(option::kDropped, files.dropped, "Write the echoes to this capture")
        ->type_name("FILE");
    command
        ->add_option(option::kPairs, files.pairs,
                     "Write the echoes as CSV: number, number of the original, age")
        ->type_name("FILE");
    command->add_flag(option::kMark, files.mark,
                      "Keep the echoes in the output, a .pcapng, each with a comment");
    add_window_options(*command, options->echo, deciding_words());
    add_repeat_options(*command, options->repeats);
    command
        ->add_option(option::kEngine, options->engine,
                     fmt::format("auto (default): exact as long as {} allows, then a filter",
                                 option::kMemory))
        ->type_name(one_of(config::kEngineNames));
    command
        ->add_option(option::kMaxFalseDrop, options->max_false_drop,
                     fmt::format("For a filter: keep a packet whose match is an accident with a "
                                 "greater chance than this ({})",
                                 config::kDefaultFalseDropText))
        ->type_name("P");
    command
        ->add_option(option::kMemory, options->memory,
                     "Use at most this much in all (" + size_literal(dedup::kDefaultMemory) + ")")
        ->type_name("SIZE");
    command->add_flag(
        option::kAudit, options->audit,
        "Measure false drops and misses on an exactly known sample, in an eighth of " +
            option::kMemory);
    command->add_flag(option::kJson, options->json, "Print the summary as JSON on standard output");
    command->add_flag(option::kQuiet, options->quiet,
                      "Print no summary and no progress, only warnings");
    command->callback(
        [options, &action] { action = [options] { return capture_live(*options); }; });
}

}  // namespace unecho::app
