// SPDX-License-Identifier: BSD-3-Clause
// unecho init [FILE]: write a first configuration, from options or from answers on a terminal.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "base/option_names.h"
#include "base/os/errno_code.h"
#include "base/os/user_group.h"
#include "base/utf8.h"
#include "captures/live/live_interfaces.h"
#include "captures/standard_streams.h"
#include "commands/commands.h"
#include "config/load.h"
#include "config/message_text.h"
#include "config/schema.h"
#include "config/starter.h"
#include "options/arguments.h"
#include "terminal/print.h"

namespace unecho::app {
namespace {

constexpr const char* kDefaultFile = "unecho.toml";
constexpr const char* kGroup = "unecho";  // that the packages make
constexpr std::array<std::string_view, 2> kDrivers{"af_packet", "af_xdp"};

struct InitOptions {
    std::string path = kDefaultFile;
    std::vector<std::string> taps;
    std::string tool;
    OptionText link;
    OptionText driver;
    OptionText window;
    OptionText rate;
    bool force = false;

    [[nodiscard]] bool names_interfaces() const { return !taps.empty() || !tool.empty() || link; }
};

// Return the words between commas and blanks.
std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words(1);
    for (const char c : text) {
        if (c != ',' && c != ' ' && c != '\t') {
            words.back() += c;
        } else if (!words.back().empty()) {
            words.emplace_back();
        }
    }
    if (words.back().empty()) {
        words.pop_back();
    }
    return words;
}

// Refuse at once what the written configuration may not have.
template <typename T>
Result<T> within(const config::Range<T>& range, const Result<T>& parsed, const std::string& text,
                 std::string (*literal)(T)) {
    if (parsed && !range.contains(*parsed)) {
        return fail(Errc::kInvalidArgument, fmt::format("\"{}\"; allowed: {} to {}", text,
                                                        literal(range.lo), literal(range.hi)));
    }
    return parsed;
}

Result<Nanoseconds> window_of(const std::string& text) {
    return within(config::kWindow, parse_duration(text), text, config::duration_text);
}

Result<double> rate_of(const std::string& text) {
    return within(config::kRate, parse_rate(text), text, rate_literal);
}

// Asks on the terminal until each answer is allowed.
class Interview {
  public:
    // starter: what options have said is not asked for.
    explicit Interview(config::Starter starter) : starter_(std::move(starter)) {}

    // Errc::kIo: the input ended.
    Result<config::Starter> run() {
        list_interfaces();
        bool link = false;
        ask("What is it for?\n"
            "  1  taps or SPAN ports into one tool port\n"
            "  2  a link: what comes in at one interface goes out at the other",
            "1", [&](const std::string& text) {
                link = text == "2";
                return text == "1" || text == "2" ? "" : "allowed: 1 or 2";
            });
        if (link) {
            ask("The two interfaces of the link, with a comma between", "",
                [&](const std::string& text) {
                    starter_.link = words_of(text);
                    return starter_.is_link() ? problem() : "allowed: two interfaces";
                });
        } else {
            ask("The interfaces where the taps end, with commas between", "",
                [&](const std::string& text) {
                    starter_.taps = words_of(text);
                    return problem_of_taps();
                });
            ask("The interface that leads to the tool", "", [&](const std::string& text) {
                starter_.tool = text;
                return problem();
            });
        }
        if (starter_.window == 0) {
            ask("The longest time by which a copy is late (the window)",
                duration_literal(starter_.default_window()),
                [&](const std::string& text) { return take(window_of(text), starter_.window); });
        }
        if (starter_.rate == 0) {
            ask(link ? "Packets per second at most, of each direction (the rate)"
                     : "Packets per second at most, of all taps together (the rate)",
                rate_literal(starter_.default_rate()),
                [&](const std::string& text) { return take(rate_of(text), starter_.rate); });
        }
        return ended_ ? Result<config::Starter>(
                            fail(Errc::kIo, "init: the answers ended; nothing was written"))
                      : Result<config::Starter>(starter_);
    }

  private:
    // check returns what is wrong with an answer; empty: nothing.
    template <typename Check>
    void ask(const std::string& question, const std::string& fallback, Check check) {
        while (!ended_) {
            std::fprintf(stderr, "%s%s: ", question.c_str(),
                         fallback.empty() ? "" : fmt::format(" [{}]", fallback).c_str());
            std::string answer;
            if (!std::getline(std::cin, answer)) {
                std::fputs("\n", stderr);
                ended_ = true;
                return;
            }
            const std::string wrong = check(answer.empty() ? fallback : answer);
            if (wrong.empty()) {
                return;
            }
            std::fprintf(stderr, "  %s\n", escaped(wrong).c_str());
        }
    }

    static void list_interfaces() {
        const auto found = capture::live_interfaces();
        std::fputs("The interfaces of this host:\n", stderr);
        for (const capture::LiveInterface& one :
             found.value_or(std::vector<capture::LiveInterface>())) {
            if (one.network && one.name != capture::kAnyInterface && one.name != "lo") {
                std::fprintf(stderr, "  %-15s %s\n", escaped(one.name).c_str(),
                             one.up ? "up" : "down");
            }
        }
    }

    [[nodiscard]] std::string problem() const {
        const Status status = config::check_starter(starter_);
        return status ? "" : status.error().context;
    }

    // The tool is asked for later.
    [[nodiscard]] std::string problem_of_taps() const {
        config::Starter taps = starter_;
        taps.tool = "tool";
        while (std::find(taps.taps.begin(), taps.taps.end(), taps.tool) != taps.taps.end()) {
            taps.tool += "-";
        }
        const Status status = config::check_starter(taps);
        return status ? "" : status.error().context;
    }

    template <typename T>
    static std::string take(const Result<T>& parsed, T& value) {
        if (!parsed) {
            return parsed.error().context;
        }
        value = *parsed;
        return "";
    }

    config::Starter starter_;
    bool ended_ = false;
};

Result<config::Starter> starter_of(const InitOptions& options) {
    config::Starter out;
    OptionReader read;
    read(option::kDriver, options.driver, name_in(kDrivers),
         [&](std::size_t i) { out.af_xdp = i == 1; });
    read(option::kWindow, options.window, window_of,
         [&](Nanoseconds window) { out.window = window; });
    read(option::kRate, options.rate, rate_of, [&](double rate) { out.rate = rate; });
    UNECHO_TRY(read.status());
    if (options.names_interfaces()) {
        out.taps = options.taps;
        out.tool = options.tool;
        out.link = words_of(options.link.value_or(""));
        if (options.link && out.link.size() != 2) {
            return bad_option(option::kLink, "\"" + *options.link +
                                                 "\"; allowed: two interfaces, as in eth1,eth2");
        }
        if (const Status status = config::check_starter(out); !status) {
            return fail(Errc::kConfig, fmt::format("init: {}; needed: {} IF and {} IF, or {} IF,IF",
                                                   status.error().context, option::kTap,
                                                   option::kTool, option::kLink));
        }
    } else if (isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1) {
        auto answered = Interview(std::move(out)).run();
        if (!answered) {
            return answered;
        }
        out = std::move(*answered);
    } else {
        return fail(Errc::kConfig, fmt::format("init: which interfaces? needed: {} IF and {} IF, "
                                               "or {} IF,IF; on a terminal it asks",
                                               option::kTap, option::kTool, option::kLink));
    }
    if (group_named(kGroup)) {
        out.telemetry_group = kGroup;
    }
    return out;
}

tl::unexpected<Error> is_there(const std::string& path) {
    return fail(Errc::kConfig, fmt::format("init: {} is there already; {} overwrites it",
                                           escaped(path), option::kForce));
}

// A link that leads nowhere is there as well. What cannot be looked at fails when it is written.
Status check_absent(const std::string& path) {
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::symlink_status(path, error))) {
        return is_there(path);
    }
    return {};
}

// Write a file that must not exist, even if somebody makes it meanwhile.
Status write_new(const std::string& path, const std::string& text) {
    std::FILE* const file = std::fopen(path.c_str(), "wxe");
    if (file == nullptr && errno == EEXIST) {
        return is_there(path);
    }
    const bool written =
        file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    int number = errno;
    if (file != nullptr && std::fclose(file) != 0) {
        number = errno;
    } else if (written) {
        return {};
    }
    if (file != nullptr) {
        std::error_code ignored;
        std::filesystem::remove(path, ignored);
    }
    return fail(errc_from_errno(number),
                fmt::format("{}: cannot be written: {}", escaped(path), std::strerror(number)));
}

CommandResult init(const InitOptions& options) {
    const bool printed = options.path == capture::kStandardStream;
    const bool careful = !printed && !options.force;
    if (const Status absent = careful ? check_absent(options.path) : Status{}; !absent) {
        return absent;
    }
    const auto starter = starter_of(options);
    UNECHO_TRY(starter);
    const std::string path = escaped(printed ? kDefaultFile : options.path);
    const std::string text = config::starter_toml(*starter, path);
    if (const auto config = config::load_text(text, path); !config) {
        return tl::unexpected(config::as_error(config.error(), "init"));
    }
    if (printed) {
        return print(text);
    }
    const Status written = careful ? write_new(options.path, text) : write_file(options.path, text);
    if (!written) {
        return written;
    }
    return print(fmt::format("{} is written. Next:\n  unecho check {}\n  sudo unecho run {}\n",
                             path, path, path));
}

}  // namespace

void add_init(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "init", "Write a first configuration, from options or from answers on a terminal");
    const auto options = std::make_shared<InitOptions>();
    command->add_option("FILE", options->path,
                        std::string("The configuration to write, by default ") + kDefaultFile +
                            "; - is standard output");
    command
        ->add_option(option::kTap, options->taps,
                     "An interface where a tap or SPAN port ends, or the PCI address of a card; "
                     "may be given several times")
        ->type_name("IF")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command->add_option(option::kTool, options->tool, "The interface that leads to the tool")
        ->type_name("IF");
    command
        ->add_option(option::kLink, options->link,
                     "Instead of taps: two interfaces between which packets pass, both ways")
        ->type_name("IF,IF");
    command
        ->add_option(option::kDriver, options->driver,
                     "How to read Linux interfaces: " + first_or(kDrivers) +
                         ", which is faster and needs more privileges")
        ->type_name(one_of(kDrivers));
    command
        ->add_option(option::kWindow, options->window,
                     "A copy younger than this is an echo (50ms; of a link 20ms)")
        ->type_name("DURATION");
    command
        ->add_option(option::kRate, options->rate,
                     "Packets per second of all taps together, or of a direction of the link "
                     "(1Mpps; 500kpps)")
        ->type_name("RATE");
    command->add_flag(option::kForce, options->force, "Overwrite the file if it is there");
    command->callback([options, &action] { action = [options] { return init(*options); }; });
}

}  // namespace unecho::app
