// SPDX-License-Identifier: BSD-3-Clause
// unecho size: what each engine would need for a window, a rate and a false-drop bound.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "commands.h"
#include "config/schema.h"
#include "control/candidates.h"

namespace unecho::app {
namespace {

struct Options {
    std::string window;
    std::optional<std::string> rate;
    std::optional<std::string> max_false_drop;
    std::optional<std::string> memory;
    std::optional<std::string> key;
    std::optional<std::string> first;
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

Result<unsigned> parse_first(const std::string& text) {
    unsigned value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size() ||
        !config::kFirst.contains(value)) {
        return fail(Errc::kInvalidArgument, "\"" + text + "\"; allowed: a whole number from 1 to " +
                                                std::to_string(config::kFirst.hi));
    }
    return value;
}

// As in a configuration: what is asked for must be a key, and only flows have first packets.
Status check_key(const Options& options, unsigned first) {
    const std::string key = options.key.value_or("packet");
    const auto& names = config::kKeyNames;
    if (std::find(names.begin(), names.end(), key) == names.end()) {
        std::string allowed;
        for (const std::string_view name : names) {
            allowed += (allowed.empty() ? "" : ", ") + std::string(name);
        }
        return tl::unexpected(bad_option("--key", "\"" + key + "\"; allowed: " + allowed));
    }
    if (first > 1 && key != "flow" && key != "flow-bidir") {
        return tl::unexpected(bad_option(
            "--first", "counts packets of a flow; it needs --key flow or --key flow-bidir"));
    }
    return {};
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
    std::optional<unsigned> first;
    then(read("--first", options.first, parse_first, first));
    question.first = first.value_or(question.first);
    then(check_key(options, question.first));
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
    command->add_option("--key", options->key,
                        "What makes packets the same, as in a configuration (packet)");
    command->add_option(
        "--first", options->first,
        "Packets of a flow that pass per window, with --key flow or flow-bidir (1)");
    command->add_flag("--json", options->json, "Print JSON");
    command->callback([options, &action] { action = [options] { return size(*options); }; });
}

}  // namespace unecho::app
