// SPDX-License-Identifier: BSD-3-Clause
// unecho size: what each engine would need for a window, a rate and a false-drop bound.
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "commands.h"
#include "control/candidates.h"

namespace unecho::app {
namespace {

struct Options {
    std::string window;
    std::optional<std::string> rate;
    std::optional<std::string> max_false_drop;
    std::optional<std::string> memory;
    bool json = false;
};

Error bad_option(const char* name, const std::string& why) {
    return {Errc::kConfig, std::string(name) + ": " + why};
}

// Reads with one of base/units.h, if given.
template <typename T, typename Parse>
Status read(const char* name, const std::optional<std::string>& text, Parse parse,
            std::optional<T>& out) {
    if (!text) {
        return {};
    }
    const Result<T> value = parse(*text);
    if (!value) {
        return tl::unexpected(bad_option(name, value.error().context));
    }
    out = *value;
    return {};
}

Result<double> parse_probability(const std::string& text) {
    double value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size()) {
        return fail(Errc::kInvalidArgument,
                    "\"" + text + "\" is no number; allowed: above 0 up to 0.5, as in 1e-6");
    }
    return value;
}

Outcome size(const Options& options) {
    std::optional<Nanoseconds> window;
    std::optional<double> max_false_drop;
    control::SizeQuestion question;
    Status status = read<Nanoseconds>("--window", options.window, parse_duration, window);
    const auto then = [&](Status next) { status = status ? next : status; };
    then(read("--rate", options.rate, parse_rate, question.rate));
    then(read("--memory", options.memory, parse_size, question.memory));
    then(read("--max-false-drop", options.max_false_drop, parse_probability, max_false_drop));
    if (!status) {
        return status;
    }
    question.window = *window;
    question.max_false_drop = max_false_drop.value_or(question.max_false_drop);
    const auto candidates = control::find_candidates(question);
    if (!candidates) {
        return tl::unexpected(candidates.error());
    }
    const std::string text =
        options.json ? control::to_json(*candidates).dump(1) + "\n" : control::to_text(*candidates);
    std::fputs(text.c_str(), stdout);
    return {};
}

}  // namespace

void add_size(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "size", "What each filter engine needs for a window and a rate, best first");
    const auto options = std::make_shared<Options>();
    command->add_option("--window", options->window, "How long a packet is remembered, as in 50ms")
        ->required();
    command->add_option("--rate", options->rate,
                        "New packets that one worker takes, as in 10Mpps; without it, the highest "
                        "rate that --memory allows");
    command->add_option("--max-false-drop", options->max_false_drop,
                        "Chance that a new packet is taken for an echo (1e-6)");
    command->add_option("--memory", options->memory, "At most this much a worker, as in 64MiB");
    command->add_flag("--json", options->json, "Print JSON");
    command->callback([options, &action] { action = [options] { return size(*options); }; });
}

}  // namespace unecho::app
