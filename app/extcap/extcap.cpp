// SPDX-License-Identifier: BSD-3-Clause
// unecho extcap: the program that Wireshark calls to capture. Wireshark calls it once per question,
// and once to capture; the capture ends when it closes the pipe or sends SIGTERM.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/join_text.h"
#include "base/option_names.h"
#include "base/units.h"
#include "base/utf8.h"
#include "captures/dedup/pcap_run.h"
#include "captures/live/live_interfaces.h"
#include "captures/live/live_source.h"
#include "commands/commands.h"
#include "extcap/extcap_dialogue.h"
#include "extcap/extcap_toolbar.h"
#include "options/arguments.h"
#include "options/exit_status.h"
#include "options/window_options.h"
#include "terminal/print.h"
#include "terminal/stop_signal.h"

namespace unecho::app {
namespace {

constexpr int kTickMilliseconds = 200;  // greatest age of what the toolbar shows

struct ExtcapOptions {
    bool list = false;
    bool dlts = false;
    bool dialogue = false;
    bool capture = false;
    OptionText version;
    OptionText interface;
    OptionText filter;
    OptionText fifo;
    OptionText with;
    bool alone = false;
    OptionText control_in;
    OptionText control_out;
    WindowOptions echo;
    OptionText engine;
    OptionText memory;
    OptionText snap;
    OptionText buffer;
    bool not_promiscuous = false;
    bool mark = false;
};

// Treat a field of the dialogue that was left empty as absent.
OptionText filled(const OptionText& text) {
    return text && text->empty() ? OptionText() : text;
}

WindowOptions filled(const WindowOptions& given) {
    WindowOptions out = given;
    for (OptionText* one : {&out.key, &out.non_ip, &out.tunnels, &out.vxlan_ports, &out.tenant,
                            &out.tags, &out.key_bytes, &out.window, &out.policy, &out.first}) {
        *one = filled(*one);
    }
    return out;
}

Result<dedup::Options> read_options(const ExtcapOptions& given) {
    dedup::Options out;
    OptionReader read;
    read_window_options(read, filled(given.echo), out);
    read(option::kEngine, filled(given.engine), name_in(config::kEngineNames),
         [&](std::size_t i) { out.engine = static_cast<config::Engine>(i); });
    read(option::kMemory, filled(given.memory), parse_size,
         [&](std::uint64_t n) { out.memory = n; });
    UNECHO_TRY(read.status());
    return out;
}

// Return the interface and those to be captured with it.
Result<std::vector<std::string>> read_interfaces(const OptionText& with,
                                                 const std::string& interface) {
    std::vector<std::string> chosen{interface};
    if (!with) {
        return chosen;
    }
    const auto interfaces = capture::live_interfaces();
    UNECHO_TRY(interfaces);
    const auto others = other_interfaces(interface, *interfaces);
    const auto has = [](const std::vector<std::string>& names, const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    for (const std::string& name : parts_of(*with)) {
        const bool again = has(chosen, name);
        if (again || !has(others, name)) {
            return bad_option(
                option::kWith,
                fmt::format("\"{}\" is {}; allowed: {}", escaped(name),
                            name == interface ? "the interface itself"
                            : again           ? "in the list already"
                                              : "no other interface of the network",
                            others.empty() ? "none"
                                           : fmt::format("different ones of {} with commas between",
                                                         join_text(others))));
        }
        chosen.push_back(name);
    }
    return chosen;
}

Result<capture::LiveOptions> read_live(const ExtcapOptions& given, const std::string& interface) {
    capture::LiveOptions out;
    auto interfaces = read_interfaces(filled(given.with), interface);
    UNECHO_TRY(interfaces);
    out.interfaces = *std::move(interfaces);
    out.filter = given.filter.value_or("");
    out.promiscuous = !given.not_promiscuous;
    OptionReader read;
    read(option::kLongSnap, filled(given.snap), parse_snap,
         [&](std::uint64_t n) { out.snap_length = static_cast<std::uint32_t>(n); });
    read(option::kBuffer, filled(given.buffer), parse_buffer,
         [&](std::uint64_t n) { out.buffer_bytes = n; });
    UNECHO_TRY(read.status());
    return out;
}

// Wireshark's pipe, open for writing while this object exists.
class Fifo {
  public:
    // Wait for the reader. Return a closed Fifo if stop is set before. Errc::kConfig.
    static Result<Fifo> open(const std::string& path, const std::atomic<bool>& stop);
    Fifo(Fifo&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Fifo& operator=(Fifo&&) = delete;
    ~Fifo() {
        if (descriptor_ >= 0) {
            ::close(descriptor_);
        }
    }

    [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
    [[nodiscard]] int descriptor() const { return descriptor_; }
    [[nodiscard]] std::string path() const { return "/dev/fd/" + std::to_string(descriptor_); }
    [[nodiscard]] bool reader_left() const {
        pollfd asked{.fd = descriptor_, .events = 0, .revents = 0};
        return ::poll(&asked, 1, 0) == 1 && (asked.revents & POLLERR) != 0;
    }

  private:
    explicit Fifo(int descriptor) : descriptor_(descriptor) {}

    int descriptor_;
};

Result<Fifo> Fifo::open(const std::string& path, const std::atomic<bool>& stop) {
    constexpr int kTryMilliseconds = 20;
    struct stat about {};
    if (::stat(path.c_str(), &about) == 0 && !S_ISFIFO(about.st_mode)) {
        return bad_option(option::kFifo,
                          fmt::format("\"{}\" is no pipe; unecho capture {} FILE writes files",
                                      escaped(path), option::kWrite));
    }
    while (!stop.load(std::memory_order_relaxed)) {
        const int descriptor = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (descriptor >= 0) {
            return Fifo(descriptor);
        }
        if (errno != ENXIO && errno != EINTR) {
            return bad_option(option::kFifo,
                              fmt::format("\"{}\": {}; allowed: a pipe that can be written to",
                                          escaped(path), std::generic_category().message(errno)));
        }
        ::poll(nullptr, 0, kTryMilliseconds);
    }
    return Fifo(-1);
}

// Refuse a second capture of the same Wireshark, the parent process, while the returned descriptor
// is open. The lock is on the parent's entry in /proc: it means this very process, other users
// cannot take it, and the kernel releases it with the last process that has it. The descriptor is
// empty where the parent is not known: init's children have nothing in common. Errc::kConfig.
Result<Descriptor> lock_parent(const std::string& interface, const std::atomic<bool>& stop) {
    constexpr int kTryMilliseconds = 20;
    constexpr int kTries = 150;  // 3 s, in which the process of a capture before this one may end
    const pid_t parent = ::getppid();
    const std::string entry = fmt::format("/proc/{}/fd", parent);
    Descriptor lock(parent > 1 ? ::open(entry.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1);
    for (int tries = 1; lock.get() >= 0 && !stop.load(std::memory_order_relaxed); ++tries) {
        if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
            break;
        }
        if (tries == kTries) {
            return fail(
                Errc::kConfig,
                fmt::format(
                    "{}: this Wireshark already captures from another interface without echoes; "
                    "two captures do not see each other's packets. Choose one of them, and the "
                    "others under \"{}\" ({}) in its options; or set \"{}\" ({})",
                    escaped(interface), kTogetherWith, option::kWith, kOnItsOwn, option::kAlone));
        }
        ::poll(nullptr, 0, kTryMilliseconds);
    }
    return lock;
}

// Updates the toolbar, and detects that the reader has left even if no packet arrives.
class Watch {
  public:
    Watch(const Fifo& fifo, Toolbar toolbar)
        : fifo_(fifo.descriptor()), toolbar_(std::move(toolbar)), thread_([this] { run(); }) {}
    ~Watch() {
        ended_ = true;
        thread_.join();
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    void tell(const dedup::RunProgress& so_far) {
        packets_ = so_far.packets;
        echoes_ = so_far.echoes;
    }

  private:
    void run() {
        int fifo = fifo_;
        for (bool last = false; !last;) {
            last = ended_;
            std::array<pollfd, 2> polled{
                pollfd{.fd = fifo, .events = 0, .revents = 0},
                pollfd{.fd = toolbar_.input(), .events = POLLIN, .revents = 0}};
            ::poll(polled.data(), polled.size(), last ? 0 : kTickMilliseconds);
            if (polled[0].revents != 0) {
                stop_now();
                fifo = -1;
            }
            if (polled[1].revents != 0) {
                toolbar_.read();
            }
            const std::uint64_t echoes = echoes_;  // loaded before packets_, so never above it
            toolbar_.show({.seen = packets_, .echoes = echoes});
        }
    }

    int fifo_;
    Toolbar toolbar_;
    std::atomic<std::uint64_t> packets_{0};
    std::atomic<std::uint64_t> echoes_{0};
    std::atomic<bool> ended_{false};
    std::thread thread_;
};

tl::unexpected<Error> in_words_for_a_dialogue(const Error& error, const std::string& interface) {
    if (error.code != Errc::kPermission) {
        return tl::unexpected(error);
    }
    std::error_code none;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", none).string();
    return fail(Errc::kPermission,
                fmt::format("{}: no permission to capture; once, as root: setcap cap_net_raw+ep {}",
                            escaped(interface), escaped(program)));
}

CommandResult end_of(const Result<dedup::Summary>& summary, const Fifo& fifo,
                     const std::string& interface) {
    if (!summary) {
        // Wireshark stops a capture by closing its pipe, and ignores errors afterwards.
        return fifo.reader_left() ? Status()
                                  : Status(in_words_for_a_dialogue(summary.error(), interface));
    }
    for (const std::string& warning : summary->warnings) {
        std::fprintf(stderr, "unecho: warning: %s\n", warning.c_str());
    }
    return summary->incomplete ? CommandResult::with_status(kFailed.value)
                               : CommandResult(Status());
}

struct Asked {
    capture::LiveOptions live;
    dedup::Options echo;
    Toolbar toolbar;
};

Result<Asked> read_all(const ExtcapOptions& given, const std::string& interface) {
    auto live = read_live(given, interface);
    UNECHO_TRY(live);
    auto echo = read_options(given);
    UNECHO_TRY(echo);
    auto toolbar = Toolbar::open(filled(given.control_in), filled(given.control_out));
    UNECHO_TRY(toolbar);
    return Asked{*std::move(live), *std::move(echo), *std::move(toolbar)};
}

CommandResult capture_for(const ExtcapOptions& given, const std::string& interface) {
    if (!given.fifo) {
        return bad_option(option::kExtcapCapture, fmt::format("needs {} FILE", option::kFifo));
    }
    const std::atomic<bool>& stop = stop_on_signals_and_hangup();
    std::signal(SIGPIPE, SIG_IGN);
    // Open the pipe before anything can fail: Wireshark would wait for ever for a pipe without a
    // writer.
    const auto fifo = Fifo::open(*given.fifo, stop);
    if (!fifo || !fifo->is_open()) {
        return fifo ? Status() : Status(tl::unexpected(fifo.error()));
    }
    auto asked = read_all(given, interface);
    UNECHO_TRY(asked);
    const auto lock = given.alone ? Descriptor() : lock_parent(interface, stop);
    UNECHO_TRY(lock);
    asked->live.stop = &stop;
    dedup::FileOptions files;
    files.inputs = asked->live.interfaces;
    files.live = true;
    files.stop = &stop;
    files.output = fifo->path();
    files.format = capture::FileFormat::kPcapng;
    files.mark = given.mark;
    const auto report = std::make_shared<capture::LiveStats>();
    Watch watch(*fifo, std::move(asked->toolbar));
    const auto summary = dedup::run_capture(
        files, asked->echo, [&] { return capture::open_live(asked->live, report); },
        [&](const dedup::RunProgress& so_far) { watch.tell(so_far); });
    return end_of(summary, *fifo, interface);
}

CommandResult list_interfaces() {
    const auto interfaces = capture::live_interfaces();
    return interfaces ? print(interface_sentences(*interfaces))
                      : Status(tl::unexpected(interfaces.error()));
}

// Wireshark shows the printed text as the problem of the filter.
Status check_filter(const std::string& filter, const capture::LiveLink& link) {
    const Status good = capture::check_live_filter(filter, link);
    return good ? Status() : print(good.error().context + "\n");
}

CommandResult answer(const ExtcapOptions& given) {
    if (given.list) {
        return list_interfaces();
    }
    const auto interface = interface_of(given.interface.value_or(""));
    if (!interface) {
        return bad_option(
            option::kExtcapInterface,
            fmt::format("\"{}\" is none of these; allowed: unecho-NAME, as {} lists them",
                        escaped(given.interface.value_or("")), option::kExtcapInterfaces));
    }
    if (given.capture) {
        return capture_for(given, *interface);
    }
    if (given.dialogue) {
        const auto interfaces = capture::live_interfaces();
        UNECHO_TRY(interfaces);
        return print(dialogue_sentences(other_interfaces(*interface, *interfaces)));
    }
    if (!given.dlts && !given.filter) {
        return bad_option(
            "extcap",
            fmt::format("one of {}, {}, {}, {} and {} is needed; Wireshark calls it with them",
                        option::kExtcapInterfaces, option::kExtcapDlts, option::kExtcapConfig,
                        option::kExtcapFilter, option::kExtcapCapture));
    }
    const auto link = capture::live_link(*interface);
    UNECHO_TRY(link);
    return given.dlts ? print(link_sentences(*link)) : check_filter(*given.filter, *link);
}

void add_questions(CLI::App& command, ExtcapOptions& options) {
    command.add_flag(option::kExtcapInterfaces, options.list,
                     "Which interfaces there are, and what the toolbar shows");
    command.add_option(option::kExtcapVersion, options.version, "Of Wireshark; no matter")
        ->type_name("VERSION");
    command
        .add_option(option::kExtcapInterface, options.interface,
                    "Which interface is meant: unecho-eth0, unecho-any")
        ->type_name("VALUE");
    command.add_flag(option::kExtcapDlts, options.dlts, "The link type of its packets");
    command.add_flag(option::kExtcapConfig, options.dialogue, "The dialogue of its options");
    command.add_flag(option::kExtcapCapture, options.capture,
                     "Capture, until the pipe is closed or SIGTERM comes");
    command
        .add_option(option::kExtcapFilter, options.filter,
                    "Packets that match this expression of pcap-filter(7) alone; without " +
                        option::kExtcapCapture + ": print what is wrong with it")
        ->type_name("EXPR");
    command.add_option(option::kFifo, options.fifo, "The pipe that a pcapng is written to")
        ->type_name("FILE");
    command
        .add_option(option::kExtcapControlIn, options.control_in,
                    "The pipe on which the toolbar speaks")
        ->type_name("FILE");
    command
        .add_option(option::kExtcapControlOut, options.control_out,
                    "The pipe on which the toolbar is told the counts")
        ->type_name("FILE");
}

}  // namespace

void add_extcap(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("extcap", "Capture for Wireshark, which calls it");
    const auto options = std::make_shared<ExtcapOptions>();
    add_questions(*command, *options);
    command
        ->add_option(option::kWith, options->with,
                     "Other interfaces, captured with this one: a packet that several of them see "
                     "comes once")
        ->type_name("IF,IF");
    command->add_flag(
        option::kAlone, options->alone,
        "Capture even if the same Wireshark also captures from another interface; the "
        "two captures do not see each other's packets");
    command->add_flag(option::kMark, options->mark,
                      "Echoes stay, each with a comment that names the packet it repeats");
    add_window_options(*command, options->echo,
                       {.key = "What makes packets the same",
                        .non_ip = "Frames without an IP packet; with frame equal ones are echoes",
                        .tunnels = "Encapsulations to look into, for the key of the packet inside",
                        .tags = "VLANs, MPLS labels and the like; with compare equal packets in "
                                "two of them are two",
                        .window = "An echo is younger than this",
                        .policy = "With refresh an echo prolongs the window",
                        .first = "Packets of a flow that pass in each window, with a flow key"});
    command->add_flag(option::kLongNotPromiscuous, options->not_promiscuous,
                      "Packets for this host alone");
    command
        ->add_option(option::kLongSnap, options->snap,
                     "So many bytes of each packet; 0 (default): all")
        ->type_name("N");
    command->add_option(option::kBuffer, options->buffer, "The kernel's buffer, as 16MiB")
        ->type_name("SIZE");
    command
        ->add_option(option::kEngine, options->engine,
                     fmt::format("auto (default): exact as long as {} allows, then a filter",
                                 option::kMemory))
        ->type_name(one_of(config::kEngineNames));
    command
        ->add_option(option::kMemory, options->memory,
                     "At most this much in all (" + size_literal(dedup::kDefaultMemory) + ")")
        ->type_name("SIZE");
    command->callback([options, &action] { action = [options] { return answer(*options); }; });
}

}  // namespace unecho::app
